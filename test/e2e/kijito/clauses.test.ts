// Cases that the table of rows has not, by the clause they show.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { complete, FP, NF, row } from '../../kit/kijito/index.js'

const standing = { cursor: 5 }

row(
  'KS-7',
  'a reset of a connection that was used before is tried again and is no failure',
  { standing },
  async (t, scene) => {
    scene.newest(complete(5), complete(5), { ...complete(5), wire: { kind: 'reset-reused' } }, complete(5, 6))
    scene.start([...NF, '--alert-after', '1'])
    await scene.tells('new 6')
    t.same(scene.story(), ['armed(5)', 'new 6'])
    t.ok(
      scene.asked().some(({ served }) => served > 0),
      'connections are kept',
    )
  },
)

row('KS-58', 'a message whose row says so was read', { standing }, async (t, scene) => {
  await scene.tell({ do: 'set', settings: { pending: 'missing' } })
  await scene.tell({ do: 'ids', next: 6 })
  const id = scene.send('argus')
  scene.start(NF)
  await scene.tells(`new ${id}`)
  t.match(scene.payload('message', `argus/${id}`), { read: false })
  await scene.tell({ do: 'read', persona: 'argus' })
  await scene.until('it was read', () => scene.payload('message', `argus/${id}`)?.['read'] === true)
  t.same(scene.story(), ['armed(5)', `new ${id}`], 'nothing wakes for that')
})

row(
  'KS-58',
  'so was one of a persona without unread mail, though no window shows it',
  { standing },
  async (_t, scene) => {
    await scene.tell({ do: 'set', settings: { pageRows: 1 } })
    await scene.tell({ do: 'ids', next: 6 })
    const first = scene.send('argus')
    scene.start([...FP, '--resync-every', '600'])
    await scene.tells(`new ${first}`)
    const second = scene.send('argus')
    await scene.tells(`new ${second}`)
    await scene.tell({ do: 'read', persona: 'argus' })
    for (const id of [first, second]) {
      await scene.until(`${id} was read`, () => scene.payload('message', `argus/${id}`)?.['read'] === true)
    }
  },
)

row('KS-59', 'an inbox that hangs delays no other', {}, async (t, scene) => {
  scene.rule({
    on: { endpoint: 'inbox', persona: 'loom' },
    effect: { ...complete(5), wire: { kind: 'drip', everyMs: 2000, bytes: 1 } },
  })
  for (const persona of ['argus', 'loom', 'river']) await scene.tell({ do: 'persona', persona })
  scene.start(['--poll-seconds', '1', '--wait', '5', '--alert-after', '1'])
  for (const persona of ['argus', 'river']) {
    await scene.tells('armed(0)', 1, persona)
    const id = scene.send(persona, 'loom')
    await scene.tells(`new ${id}`, 1, persona)
  }
  t.same(scene.story('loom'), [], 'it still hangs')
})

row(
  'KS-84',
  'a token that is refused is read again, and never shown',
  { settings: { token: 'first-token' } },
  async (t, scene) => {
    const file = join(scene.home, 'token')
    writeFileSync(file, 'first-token\n', { mode: 0o600 })
    scene.send('argus')
    const producer = scene.start([...NF, '--alert-after', '50', '--token-file', file], {})
    await scene.tells('armed(1)')
    await scene.tell({ do: 'set', settings: { token: 'second-token' } })
    await scene.until('a refusal', () => scene.asked().at(-1)?.status === 401)
    writeFileSync(file, 'second-token\n', { mode: 0o600 })
    const id = scene.send('argus')
    await scene.tells(`new ${id}`)
    t.same(scene.story().slice(-2), ['armed(1)', `new ${id}`])
    await producer.stop()
    const files = readdirSync(scene.store, { recursive: true, withFileTypes: true }).filter(entry =>
      entry.isFile(),
    )
    const texts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
    for (const text of [producer.stderr, producer.stdout, ...texts]) t.notMatch(text, /(first|second)-token/)
  },
)
