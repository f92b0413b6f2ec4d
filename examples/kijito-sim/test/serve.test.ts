import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import {
  Kijito,
  obey,
  openScriptServer,
  performCommand,
  type RuleEffect,
  readClocks,
  type Serving,
  serve,
  settingsOf,
} from '@kim/example-kijito-sim'
import t from 'tap'

const kijito = new Kijito(settingsOf('hosted', { namedAgentsOnly: false }))
performCommand(kijito, { do: 'send', to: 'river', from: 'argus', content: 'hello' }, readClocks())
const serving: Serving = await serve(kijito)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
t.teardown(async () => {
  agent.destroy()
  await serving.close()
})

const INBOX = '/api/inbox?persona=river&mark_read=false'

/** What came of a request: the body, or the error it ended with. */
async function fetchText(
  path: string,
  through?: Agent,
): Promise<{ status?: number; text: string; error?: string }> {
  const request = get(`${serving.url}${path}`, { agent: through ?? false })
  let text = ''
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) text += chunk
    return { status: response.statusCode ?? 0, text }
  } catch (error) {
    return { text, error: (error as NodeJS.ErrnoException).code ?? String(error) }
  }
}

async function onceWith(effect: RuleEffect, path = INBOX, through?: Agent): ReturnType<typeof fetchText> {
  await obey(kijito, serving, { do: 'rule', on: {}, effect, times: 1 })
  return fetchText(path, through)
}

t.test('wire - an ordinary answer', async t => {
  const { status, text } = await fetchText(INBOX)
  t.equal(status, 200)
  t.match(JSON.parse(text), { result: [{ id: 1, content: 'hello', read: false }], next_before_id: null })
})

t.test('wire - what goes wrong below HTTP', async t => {
  t.match(await onceWith({ wire: { kind: 'reset' } }), { error: 'ECONNRESET' })
  t.match(await onceWith({ wire: { kind: 'close' } }), { error: 'ECONNRESET' })
  t.match(await onceWith({ wire: { kind: 'garbage', text: 'SMTP ready\r\n\r\n' } }), { error: /^HPE_/ })
  const short = await onceWith({ wire: { kind: 'short', missing: 5 } })
  t.match(short, { error: 'ECONNRESET' })
  t.ok(short.text.startsWith('{"result"'), 'the rest of it came')
  t.match(await onceWith({ wire: { kind: 'broken-chunk' } }), { error: 'ECONNRESET' })
  t.match(await onceWith({ status: 204 }), { status: 204, text: '' })
  t.match(await onceWith({ status: 304 }), { status: 304, text: '' })
})

t.test('wire - a dripping body comes whole in the end', async t => {
  const { text } = await onceWith({ wire: { kind: 'drip', everyMs: 1, bytes: 20 } })
  t.match(JSON.parse(text), { result: [{ id: 1 }] })
})

t.test('wire - a reset of a connection that was used before spares a new one', async t => {
  const effect: RuleEffect = { wire: { kind: 'reset-reused' } }
  t.match(await onceWith(effect, INBOX, agent), { status: 200 })
  t.match(await onceWith(effect, INBOX, agent), { error: 'ECONNRESET' })
  t.match(await onceWith(effect, INBOX, agent), { status: 200 })
  t.match(kijito.log.find().at(-2), { served: 1 }, 'the log tells the connections apart')
})

t.test('wire - refuses connections, and takes them again on the same port', async t => {
  const { port } = serving
  await obey(kijito, serving, { do: 'refuse' })
  t.match(await fetchText(INBOX), { error: 'ECONNREFUSED' })
  await obey(kijito, serving, { do: 'open' })
  t.equal(serving.port, port)
  t.match(await fetchText(INBOX), { status: 200 })
})

t.test('wire - a held request is answered when mail comes, and noted when its client leaves', async t => {
  const arrived = obey(kijito, serving, { do: 'await', on: { endpoint: 'pending' }, count: 1 })
  const held = fetchText('/api/notify/pending?wait=50&cursor=m1')
  await arrived
  await obey(kijito, serving, { do: 'send', to: 'river', from: 'argus', content: 'more' })
  t.match(JSON.parse((await held).text), { cursor: 'm2', result: [{ persona: 'river', unread: 2 }] })

  const socket = connect(serving.port, '127.0.0.1')
  socket.write('GET /api/notify/pending?wait=50&cursor=m2 HTTP/1.1\r\nhost: a\r\n\r\n')
  await obey(kijito, serving, { do: 'await', on: { endpoint: 'pending' }, count: 2 })
  socket.destroy()
  const entry = kijito.log.find().at(-1)
  while (entry?.endedMs === undefined) await serving.stirred()
  t.match(entry, { wentAway: true, status: undefined })
})

t.test('send - mail can be sent as consumers do', async t => {
  const response = await fetch(`${serving.url}/api/send`, {
    method: 'POST',
    body: JSON.stringify({ to: 'loom', from: 'river', content: 'hello', urgent: true }),
  })
  t.same(await response.json(), { result: { id: 3, to: 'loom' } })
  const claim = async (persona: string, path = 'claim'): Promise<unknown> => {
    const body = JSON.stringify({ message_id: 3, persona, lease_seconds: 60 })
    return (await fetch(`${serving.url}/api/${path}`, { method: 'POST', body })).json()
  }
  t.match(await claim('loom'), { claimed: true })
  t.match(await claim('argus'), { claimed: false, advisory: { claimed_by: 'loom' } })
  t.match(await claim('loom', 'release'), { released: true })
  t.match(await claim('argus'), { claimed: true })
})

t.test('control - takes a command a request, as JSON alone', async t => {
  const control = await openScriptServer(kijito, serving)
  t.teardown(() => control.close())
  const post = async (body: string, type = 'application/json'): Promise<unknown> =>
    (await fetch(control.url, { method: 'POST', body, headers: { 'content-type': type } })).json()
  t.match(await post('{"do":"send","to":"loom","from":"argus","content":"a"}'), { ok: true, result: [4] })
  t.match(await post('{"do":"dance"}'), { ok: false, error: /dance/ })
  t.match(await post('{"do":"send","to":1}'), { ok: false, error: /"to"/ })
  t.match(await post('nonsense'), { ok: false })
  t.match(await post('{"do":"count"}', 'text/plain'), { ok: false })
})
