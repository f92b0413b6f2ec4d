import {
  type AskResult,
  bodyText,
  Kijito,
  performCommand,
  type ScriptCommand,
  type Settings,
  settingsOf,
} from '@kim/example-kijito-sim'
import t from 'tap'

const now = { monoMs: 1000, wallMs: Date.parse('2026-06-10T14:03:22Z') }

function account(settings: Partial<Settings> = {}, commands: readonly ScriptCommand[] = []): Kijito {
  const kijito = new Kijito(settingsOf('hosted', settings))
  for (const command of commands) performCommand(kijito, command, now)
  return kijito
}

function ask(kijito: Kijito, path: string, query: Record<string, string> = {}): AskResult {
  return kijito.ask({ method: 'GET', path, query, headers: { 'user-agent': 'test/1' } }, now)
}

function read(outcome: AskResult): Record<string, unknown> {
  if (outcome.kind === 'held') throw new Error('it is held')
  return JSON.parse(bodyText(outcome.answer.body)) as Record<string, unknown>
}

function page(
  kijito: Kijito,
  query: Record<string, string> = {},
): Record<string, unknown> & { ids: number[] } {
  const body = read(ask(kijito, '/api/inbox', { persona: 'river', mark_read: 'false', ...query }))
  return { ...body, ids: (body['result'] as { id: number }[]).map(({ id }) => id) }
}

const mail = (count: number, content = 'hello'): ScriptCommand => ({
  do: 'send',
  to: 'river',
  from: 'argus',
  content,
  count,
})

t.test('window - says what the count withheld, and an exact page says nothing is', async t => {
  const kijito = account({ pageRows: 3 }, [mail(7)])
  const newest = page(kijito)
  t.match(newest, { truncated: true, size_dropped: 0, next_before_id: 5, unread_not_shown: 4 })
  t.same(newest.ids, [7, 6, 5])
  t.match(page(kijito, { before_id: '5' }), { ids: [4, 3, 2], next_before_id: 2 })
  t.match(page(kijito, { before_id: '2' }), {
    ids: [1],
    truncated: false,
    next_before_id: null,
    unread_not_shown: 0,
  })
  t.match(page(kijito, { before_id: '4' }), { ids: [3, 2, 1], truncated: false, next_before_id: null })
  t.match(page(kijito, { before_id: '0' }), { ids: [], next_before_id: null }, 'zero is a real cursor')
  t.match(page(kijito, { before_id: '8', limit: '1' }), { ids: [7], truncated: true, next_before_id: 7 })
})

t.test('window - the budget drops the oldest rows, and never the newest', async t => {
  const kijito = account({ pageBudget: 10 }, [mail(4, 'four')])
  t.match(page(kijito), {
    ids: [4, 3],
    truncated: false,
    size_dropped: 2,
    size_truncated: true,
    next_before_id: 3,
  })
  performCommand(kijito, mail(1, 'far too long a text'), now)
  const clipped = page(kijito, { limit: '1' })
  t.match(clipped, { ids: [5], size_dropped: 0, size_truncated: true })
  t.match(clipped['result'], [{ content: 'far too lo' }])
})

t.test('window - rows are withheld exactly where there is a continuation, at the lowest id', async t => {
  for (const pageRows of [1, 2, 5, 50])
    for (const pageBudget of [5, 12, 1000])
      for (const rowOrder of ['ascending', 'descending', 'shuffled'] as const) {
        const kijito = account({ pageRows, pageBudget, rowOrder }, [mail(9)])
        let seen: number[] = []
        let before: Record<string, string> = {}
        for (;;) {
          const { ids, ...body } = page(kijito, before)
          seen = [...ids, ...seen]
          const isWithheld = body['truncated'] === true || Number(body['size_dropped']) > 0
          if (isWithheld !== (body['next_before_id'] !== null)) t.fail('it contradicts itself')
          if (!isWithheld) break
          if (body['next_before_id'] !== Math.min(...ids)) t.fail('it skips')
          before = { before_id: String(body['next_before_id']) }
        }
        t.same(new Set(seen), new Set([1, 2, 3, 4, 5, 6, 7, 8, 9]))
      }
})

t.test('window - marks as read what it returns, unless told not to', async t => {
  const kijito = account({ pageRows: 2 }, [mail(3)])
  t.match(page(kijito), { unread_not_shown: 1 })
  t.match(page(kijito, { mark_read: 'true' }), { unread_not_shown: 1 })
  t.match(page(kijito, { unread_only: 'true' }), { ids: [1] })
  const body = read(ask(kijito, '/api/inbox', { persona: 'river' }))
  t.ok(body)
  t.match(page(kijito, { unread_only: 'true', before_id: '2' }), { ids: [1] }, 'only what was returned')
})

t.test('window - the local dialect shows everything and says nothing', async t => {
  const kijito = new Kijito(settingsOf('local'))
  performCommand(kijito, mail(600), now)
  const body = read(
    kijito.ask({ method: 'GET', path: '/api/inbox', query: { persona: 'river' }, headers: {} }, now),
  )
  t.same(Object.keys(body), ['result'])
  t.equal((body['result'] as unknown[]).length, 600)
})

t.test('inbox - an unknown persona has an empty one; a malformed query is refused', async t => {
  const kijito = account()
  t.same(page(kijito, { persona: 'nobody' }).ids, [])
  for (const query of [{ before_id: 'x' }, { before_id: '-1' }, { mark_read: 'no' }, { persona: '' }]) {
    const outcome = ask(kijito, '/api/inbox', { persona: 'river', ...query })
    t.match(outcome, { kind: 'answer', answer: { status: 400 } }, JSON.stringify(query))
  }
})

t.test('counts - a row only for unread mail, and none for what one sends oneself', async t => {
  const kijito = account({}, [
    mail(2),
    { do: 'send', to: 'river', from: 'argus', content: 'now', urgent: true },
    { do: 'send', to: 'loom', from: 'loom', content: 'a note' },
  ])
  const pending = (): unknown => read(ask(kijito, '/api/notify/pending'))
  t.same(pending(), { result: [{ persona: 'river', unread: 3, unread_urgent: 1 }], cursor: 'm4' })
  performCommand(kijito, { do: 'read', persona: 'river' }, now)
  t.same(pending(), { result: [], cursor: 'm4' }, 'reading does not move the token')
})

t.test('directory - lists members and recipients of mail, each member of a row can be left out', async t => {
  const kijito = account({}, [
    { do: 'persona', persona: 'river', row: { memory_count: 61, retired: true }, omit: ['projects'] },
    { do: 'send', to: 'all', from: 'river', content: 'hello?' },
  ])
  t.match(read(ask(kijito, '/api/personas')), {
    result: [
      { persona: 'river', memory_count: 61, mail_total: 0, unread: 0, retired: true, write_only: false },
      { persona: 'all', memory_count: 0, mail_total: 1, unread: 1 },
    ],
  })
  const [river] = read(ask(kijito, '/api/personas'))['result'] as object[]
  t.notOk('projects' in (river ?? {}))
})

t.test("doors - a token, a name of one's own and a known path are asked for", async t => {
  const kijito = account({ token: 'secret' })
  const status = (path: string, headers: Record<string, string>, method = 'GET'): number => {
    const outcome = kijito.ask({ method, path, query: { persona: 'river' }, headers }, now)
    return outcome.kind === 'answer' ? outcome.answer.status : 0
  }
  const agent = { 'user-agent': 'kim/0.1.0' }
  t.equal(status('/api/inbox', agent), 401)
  t.equal(status('/api/inbox', { ...agent, authorization: 'Bearer secret' }), 200)
  t.equal(status('/api/inbox', { ...agent, 'x-k': 'secret' }), 200)
  t.equal(status('/api/inbox', { authorization: 'Bearer secret' }), 403)
  t.equal(status('/api/inbox', { 'user-agent': 'Python-urllib/3.11', authorization: 'Bearer secret' }), 403)
  t.equal(status('/api/notify-pending', { ...agent, authorization: 'Bearer secret' }), 404)
  t.equal(status('/api/inbox', { ...agent, authorization: 'Bearer secret' }, 'POST'), 405)
  kijito.settings = { ...kijito.settings, hive: false }
  t.equal(status('/api/inbox', { ...agent, authorization: 'Bearer secret' }), 404)
})
