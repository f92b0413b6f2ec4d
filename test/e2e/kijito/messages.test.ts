import { join } from 'node:path'
import { complete, messageRow, NF, page, readRecords, row, type Scene } from '../../kit/kijito/index.js'
import { tail } from '../kim-tail-process.js'

/** The event lines of a store, as the older monitor printed them. */
function eventLines(scene: Scene, store: string = scene.store, more: readonly string[] = []): string[] {
  const { code, stdout, stderr } = tail(scene.home, ['--store', store, '-o', 'monitor', '-n', 'all', ...more])
  if (code !== 0) throw new Error(stderr)
  return stdout.split('\n').filter(line => line !== '')
}

function newsOf(lines: readonly string[]): Record<string, unknown>[] {
  const events = lines.map(line => JSON.parse(line) as Record<string, unknown>)
  return events.filter(({ event }) => event === 'new')
}

row(
  'C1',
  'a message is news once, under a stable name (KS-29, KS-76, KS-77)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4, 5))
    scene.start(NF)
    await scene.tells('new 5')
    await scene.polls(2)
    t.same(scene.story(), ['armed(4)', 'new 5'])
    t.match(newsOf(eventLines(scene)), [{ id: 5, event_id: 'argus:new:5', nonce: 'QVYJLn8UH9E' }])
  },
)

row('C2', 'two stores give a message the same name (KS-76)', {}, async (t, scene) => {
  scene.newest(complete(4))
  const other = join(scene.home, 'other')
  scene.start(NF)
  await scene.tells('armed(4)')
  const flags = ['--url', scene.url, '--allow-loopback', '--dialect', 'hosted', ...NF]
  scene.run(['run', '--store', other, ...flags], { KIM_TOKEN: 'tok' })
  await scene.until('the other one is armed', () => readRecords(other).some(({ event }) => event === 'armed'))
  scene.clear()
  scene.newest(complete(4, 9))
  await scene.tells('new 9')
  const both: Record<string, unknown>[][] = []
  await scene.until('both have it', () => {
    both.splice(0, 2, newsOf(eventLines(scene)), newsOf(eventLines(scene, other)))
    return both.every(news => news.length > 0)
  })
  const names = both.map(news => news.map(({ event_id, nonce }) => ({ event_id, nonce })))
  t.match(names[0], [{ event_id: 'argus:new:9', nonce: /^\w{11}$/ }])
  t.same(names[0], names[1])
})

row(
  'C3',
  'bodies are cut by code points where they are printed, and whole in the journal (KS-42)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(page([4, messageRow(5, { content: 'abc😀def' })]))
    scene.start(NF)
    await scene.tells('new 5')
    t.match(scene.payload('message', 'argus/5'), { content: 'abc😀def', content_length: 7 })
    t.match(newsOf(eventLines(scene, scene.store, ['--body-chars', '4'])), [{ content: 'abc😀' }])
  },
)

row(
  'C4',
  'members of other types are taken as what they can be (KS-19)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const odd = [
      messageRow(5, { content: null }),
      messageRow(6, { content: { a: 1 } }),
      messageRow(7, { content: 12 }),
      { id: 8 },
    ]
    scene.newest(page([4, ...odd]))
    scene.start(NF)
    await scene.tells('new 8')
    const contents = [5, 6, 7, 8].map(id => scene.payload('message', `argus/${id}`)?.['content'])
    t.same(contents, ['', '{"a":1}', '12', ''])
    t.match(scene.payload('message', 'argus/8'), { from: null, created: null, read: false })
  },
)

row('C5', 'bodies can be kept out of the store (KS-42)', { standing: { cursor: 4 } }, async (t, scene) => {
  scene.newest(complete(4, 5))
  scene.start([...NF, '--no-content'])
  await scene.tells('new 5')
  await scene.polls(1)
  const payload = scene.payload('message', 'argus/5')
  t.match(payload, { content_length: 6 })
  t.notOk('content' in (payload ?? {}))
  const [line] = newsOf(eventLines(scene))
  t.notOk('content' in (line ?? {}))
  t.match(line, { nonce: 'QVYJLn8UH9E' })
})

row(
  'C6',
  'no character in a message keeps it from being recorded (KS-85)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const content = 'a\ud800b\0c\u2028d'
    scene.newest(page([4, messageRow(5, { content })]), page([4, messageRow(5, { content }), 6]))
    scene.start(NF)
    await scene.tells('new 6')
    t.same(scene.story(), ['armed(4)', 'new 5', 'new 6'])
    t.match(scene.payload('message', 'argus/5'), { content: 'a\ufffdb\0c\u2028d' })
    t.equal(newsOf(eventLines(scene)).length, 2)
  },
)

row(
  'C7',
  'mail of a suppressed author is recorded and is no news (KS-44)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(page([4, messageRow(5, { from: 'argus' }), messageRow(6, { from: 'river' })]))
    scene.start([...NF, '--suppress-author', 'argus'])
    await scene.tells('new 6')
    t.same(scene.story(), ['armed(4)', 'new 6'])
    t.same(scene.silent(), [5])
  },
)

row(
  'C8',
  'a suppressed author is matched in exact case (KS-44)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(page([4, messageRow(5, { from: 'Argus' })]))
    scene.start([...NF, '--suppress-author', 'argus'])
    await scene.tells('new 5')
    t.same(scene.silent(), [])
  },
)

row(
  'C9',
  'a line of an event fits its limit, whatever the body (KS-75)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const content = 'ä'.repeat(30_000)
    scene.newest(page([4, messageRow(5, { content })]))
    scene.start(NF)
    await scene.tells('new 5')
    t.equal(String(scene.payload('message', 'argus/5')?.['content']).length, content.length)
    const lines = eventLines(scene, scene.store, ['--body-chars', '100000'])
    t.equal(newsOf(lines).length, 1)
    for (const line of lines) t.ok(Buffer.byteLength(line) < 16_384)
  },
)
