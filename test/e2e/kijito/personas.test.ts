import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  ALL,
  complete,
  counts,
  directory,
  messageRow,
  page,
  row,
  type Scene,
} from '../../kit/kijito/index.js'
import { tail } from '../kim-tail-process.js'

const stranded = 'alert stranded-mail'
const urgent = 'alert urgent-unanswered'
/** All personas, and an alert about urgent mail without the grace that its reader has. */
const AT_ONCE = [...ALL, '--urgent-after', '0']
const alarms = (scene: Scene, persona: string): string[] =>
  scene.story(persona).filter(line => /stranded|urgent/.test(line))

/** The names an alarm about mislaid mail holds. */
function listed(scene: Scene, persona: string, member: string): string[] {
  const names = scene.alert('stranded-mail', persona)?.[member]
  return Array.isArray(names) ? names.map(String).sort() : []
}

async function joins(scene: Scene, ...personas: readonly string[]): Promise<void> {
  for (const persona of personas) await scene.tell({ do: 'persona', persona })
}

/** Waits until everybody was met and the roster is written down. */
async function genesis(scene: Scene): Promise<void> {
  await scene.until('the genesis of the registry', () =>
    scene.records().some(({ payload }) => payload?.['kind'] === 'registry_genesis'),
  )
}

row(
  'K1',
  'every persona of the directory is watched, under its exact name (KS-67, KS-68)',
  {},
  async (t, scene) => {
    const names = ['a', 'B', 'river x', 'b']
    await joins(scene, ...names)
    scene.start(ALL)
    for (const name of names) await scene.tells('armed(0)', 1, name)
    const asked = new Set(scene.asked({ endpoint: 'inbox' }).map(({ query }) => query['persona']))
    t.same(asked, new Set(names))
    const pending = scene.asked({ endpoint: 'pending' })
    await scene.until('more counts', () => scene.asked({ endpoint: 'pending' }).length > pending.length + 1)
    const overlaps = scene
      .asked({ endpoint: 'pending' })
      .filter((entry, index, all) => entry.atMs < (all[index - 1]?.endedMs ?? 0))
    t.same(overlaps, [], 'one request of counts at a time, for all of them')
  },
)

row('K2', 'the mail that makes a persona known is news (KS-33)', {}, async (t, scene) => {
  await joins(scene, 'a')
  scene.start(ALL)
  await genesis(scene)
  const id = scene.send('loom')
  await scene.tells(`new ${id}`, 1, 'loom')
  t.same(scene.story('loom'), ['persona_added', 'armed(0)', `new ${id}`])
})

row(
  'K3',
  'a name is stranded only once a directory fetched after it denies it (KS-63)',
  {},
  async (t, scene) => {
    scene.rule({ on: { endpoint: 'personas' }, effect: directory('a') })
    scene.rule({ on: { endpoint: 'inbox' }, effect: complete() })
    scene.pending(counts({}))
    scene.start([...ALL, '--rediscover-every', '600'])
    await genesis(scene)
    const before = scene.asked().at(-1)?.n ?? 0
    scene.pending(counts({ zz: 1 }))
    await scene.tells(stranded, 1, 'a')
    const seen = scene.asked({ endpoint: 'pending' }, before + 1)[0]?.n ?? 0
    t.ok(scene.asked({ endpoint: 'personas' }, seen).length > 0, 'the directory was asked again')
    t.match(scene.alert('stranded-mail', 'a'), { stranded_inboxes: ['zz'] })
  },
)

row(
  'K4',
  'rediscovery only adds, and survives a directory that fails (KS-66, KS-67)',
  {},
  async (t, scene) => {
    await joins(scene, 'a')
    const producer = scene.start([...ALL, '--rediscover-every', '1'])
    const unavailable = (): number => producer.stderr.match(/"directory_unavailable"/g)?.length ?? 0
    await genesis(scene)
    await joins(scene, 'loom')
    await scene.tells('armed(0)', 1, 'loom')
    t.same(scene.story('loom'), ['persona_added', 'armed(0)'])
    scene.rule({ on: { endpoint: 'personas' }, effect: { status: 500 } })
    const before = scene.asked({ endpoint: 'personas' }).length
    await scene.until('failures', () => scene.asked({ endpoint: 'personas' }).length > before + 1)
    const id = scene.send('loom', 'a')
    await scene.tells(`new ${id}`, 1, 'loom')
    t.equal(producer.code, undefined)
    t.equal(unavailable(), 1, 'a warning, and one')
  },
)

row('K5', 'personas by name are all there is (KS-65, KS-67)', {}, async (t, scene) => {
  scene.rule({ on: { endpoint: 'inbox' }, effect: complete() })
  scene.pending(counts({ a: 0, zz: 2 }))
  scene.start(['--persona', 'a', '--poll-seconds', '1', '--wait', '0'])
  await scene.tells('armed(0)', 1, 'a')
  await scene.until('counts', () => scene.asked({ endpoint: 'pending' }).length >= 3)
  t.same(scene.story('a'), ['armed(0)'])
  t.same(scene.story('zz'), [])
  t.equal(scene.asked({ endpoint: 'personas' }).length, 1, 'whether a is there at all (KS-92), and no more')
  t.same(scene.asked({ persona: 'zz' }), [])
})

/** Members that own something, one that owns nothing, one of which that is unknown, and names nobody owns. */
function mislaid(scene: Scene): void {
  const owns = (persona: string, memory_count?: number): object => ({ persona, memory_count })
  const rows = [owns('a', 3), owns('ghostreg', 0), owns('idle', 0), owns('unk')]
  scene.rule({ on: { endpoint: 'personas' }, effect: { json: { result: rows } } })
  scene.rule({ on: { endpoint: 'inbox' }, effect: complete() })
  scene.pending(counts({ a: 1, A: 1, all: 1, ghostreg: 1, unk: 1 }))
}

row(
  'K6',
  'mail without a reader is announced to personas that read theirs (KS-63, KS-65)',
  {},
  async (t, scene) => {
    mislaid(scene)
    scene.start([...ALL, '--rediscover-every', '1'])
    await scene.tells(stranded, 1, 'a')
    await scene.tells(stranded, 1, 'unk')
    await scene.until('more counts', () => scene.asked({ endpoint: 'pending' }).length > 5)
    for (const persona of ['a', 'unk']) {
      t.same(alarms(scene, persona), [stranded])
      t.same(listed(scene, persona, 'stranded_inboxes'), ['A', 'all', 'ghostreg'])
    }
    for (const persona of ['ghostreg', 'idle', 'A', 'all']) t.same(alarms(scene, persona), [], persona)
    t.same(scene.asked({ endpoint: 'inbox', persona: 'A' }), [], 'a twin in another case is not watched')
  },
)

row('K7', 'its end is announced, and it can come again (KS-48)', {}, async (t, scene) => {
  mislaid(scene)
  scene.start([...ALL, '--rediscover-every', '1'])
  await scene.tells(stranded, 1, 'a')
  scene.pending(counts({ a: 1, unk: 1 }))
  await scene.tells('cleared stranded-mail', 1, 'a')
  scene.pending(counts({ a: 1, A: 1, unk: 1 }))
  await scene.tells(stranded, 2, 'a')
  t.same(alarms(scene, 'a'), [stranded, 'cleared stranded-mail', stranded])
})

/** loom wrote once, then gets urgent mail and is silent. */
async function unanswered(scene: Scene): Promise<void> {
  await scene.tell({ do: 'set', settings: { listsRecipients: false } })
  await joins(scene, 'a', 'loom')
  scene.send('a', 'loom')
  scene.send('loom', 'a')
}

row('K8', 'one flag silences that alarm alone (KS-65)', {}, async (t, scene) => {
  await unanswered(scene)
  scene.start([...AT_ONCE, '--no-stranded-alerts'])
  await genesis(scene)
  scene.send('nobody', 'a')
  scene.send('loom', 'a', { urgent: true })
  await scene.tells(urgent, 1, 'a')
  await scene.polls(1, 'a')
  t.same(alarms(scene, 'a'), [urgent])
})

row('K9', 'if no inbox shows a reader, it is announced to all (KS-65)', {}, async (_t, scene) => {
  const rows = ['a', 'b'].map(persona => ({ persona, memory_count: 0 }))
  scene.rule({ on: { endpoint: 'personas' }, effect: directory(...rows) })
  scene.rule({ on: { endpoint: 'inbox' }, effect: complete() })
  scene.pending(counts({ zz: 1 }))
  scene.start(ALL)
  for (const persona of ['a', 'b']) await scene.tells(stranded, 1, persona)
})

row(
  'K10',
  'urgent mail whose reader was silent since is announced to all readers (KS-64, KS-65)',
  {},
  async (t, scene) => {
    await unanswered(scene)
    scene.start(AT_ONCE)
    await genesis(scene)
    scene.send('loom', 'a', { urgent: true })
    for (const persona of ['a', 'loom']) {
      await scene.tells(urgent, 1, persona)
      t.match(scene.alert('urgent-unanswered', persona), { urgent_unanswered: ['loom'] })
    }
    await scene.until('more counts', () => scene.asked({ endpoint: 'pending' }).length > 8)
    t.same(alarms(scene, 'a'), [urgent])
  },
)

row(
  'K11',
  'it is gone when the counts no longer hold it, and can come again (KS-13, KS-64)',
  {},
  async (_t, scene) => {
    await unanswered(scene)
    scene.start(AT_ONCE)
    await genesis(scene)
    scene.send('loom', 'a', { urgent: true })
    await scene.tells(urgent, 1, 'a')
    // Nothing was read: there is no row any more, and that alone says so.
    scene.rule({ on: { endpoint: 'pending' }, effect: counts({ a: 1 }), name: 'no row' })
    await scene.tells('cleared urgent-unanswered', 1, 'a')
    await scene.tell({ do: 'drop_rules', name: 'no row' })
    scene.send('loom', 'a', { urgent: true })
    await scene.tells(urgent, 2, 'a')
  },
)

row('K12', 'it is gone when the reader has written (KS-64, KS-71)', {}, async (t, scene) => {
  await unanswered(scene)
  scene.start(AT_ONCE)
  await genesis(scene)
  scene.send('loom', 'a', { urgent: true })
  await scene.tells(urgent, 1, 'a')
  scene.send('a', 'loom')
  await scene.tells('cleared urgent-unanswered', 1, 'a')
  t.same(alarms(scene, 'a'), [urgent, 'cleared urgent-unanswered'])
})

row('K13', 'the other flag silences the other alarm alone (KS-65)', {}, async (t, scene) => {
  await unanswered(scene)
  scene.start([...AT_ONCE, '--no-urgent-alerts'])
  await genesis(scene)
  scene.send('loom', 'a', { urgent: true })
  scene.send('nobody', 'a')
  await scene.tells(stranded, 1, 'a')
  await scene.polls(1, 'a')
  t.same(alarms(scene, 'a'), [stranded])
})

for (const status of [401, 404]) {
  row(
    'K14',
    `${status} for one persona at the start is that persona's trouble (KS-51, KS-59)`,
    {},
    async (t, scene) => {
      scene.rule({ on: { endpoint: 'inbox', persona: 'b' }, effect: { status } })
      // So that nobody was ever armed when b is refused.
      scene.rule({ on: { endpoint: 'inbox', persona: 'a' }, effect: { ...complete(5), delay_ms: 1500 } })
      const flags = ['--poll-seconds', '1', '--no-fast-path', '--alert-after', '2']
      const producer = scene.start([...flags, '--persona', 'a', '--persona', 'b'])
      await scene.tells('armed(5)', 1, 'a')
      await scene.tells('alert unreachable', 1, 'b')
      t.equal(producer.code, undefined)
    },
  )
}

row('K14', 'so is one of a persona that comes later (KS-59)', {}, async (t, scene) => {
  await joins(scene, 'a')
  const producer = scene.start([...ALL, '--rediscover-every', '1', '--alert-after', '2'])
  await genesis(scene)
  scene.rule({ on: { endpoint: 'inbox', persona: 'loom' }, effect: { status: 404 } })
  await joins(scene, 'loom')
  await scene.tells('alert unreachable', 1, 'loom')
  const id = scene.send('a')
  await scene.tells(`new ${id}`, 1, 'a')
  t.equal(producer.code, undefined)
})

row('K15', 'a name that is no text is ignored (KS-13, KS-70)', {}, async (t, scene) => {
  scene.rule({ on: { endpoint: 'personas' }, effect: directory('a', '\ud800') })
  scene.rule({ on: { endpoint: 'inbox' }, effect: [complete(), complete(5)] })
  scene.pending({ text: '{"result":[{"persona":"\\ud800","unread":2},{"persona":"a","unread":1}]}' })
  const producer = scene.start(ALL)
  await scene.tells('new 5', 1, 'a')
  t.same(new Set(scene.asked({ endpoint: 'inbox' }).map(({ query }) => query['persona'])), new Set(['a']))
  t.same(new Set(scene.records().map(({ agent }) => agent)), new Set(['kim', 'a']))
  t.equal(producer.stderr.match(/"persona_refused"/g)?.length, 1, 'a warning, and one')
})

row('K16', 'a name is never a path (KS-70)', {}, async (t, scene) => {
  const names = ['a/b', 'a_b', '..', '../../etc/x', 'x'.repeat(300), 'constructor', '__proto__', '🜁']
  await joins(scene, ...names)
  scene.start(ALL)
  for (const name of names) {
    await scene.tells('armed(0)', 1, name)
    const id = scene.send(name)
    await scene.tells(`new ${id}`, 1, name)
  }
  t.same(
    readdirSync(scene.home).filter(name => name !== 'store' && name !== 'state'),
    [],
  )
  t.same(readdirSync(scene.store).sort(), ['events', 'run'])
  const [segment, ...others] = readdirSync(join(scene.store, 'events')).filter(name =>
    name.endsWith('.jsonl'),
  )
  t.match([segment, others], ['seg-00000001.jsonl', []])
})

row('K18', 'two spellings are two personas (KS-68)', {}, async (t, scene) => {
  await joins(scene, 'Loom', 'loom')
  scene.start(ALL)
  for (const name of ['Loom', 'loom']) await scene.tells('armed(0)', 1, name)
  const id = scene.send('loom')
  await scene.tells(`new ${id}`, 1, 'loom')
  t.same(scene.story('Loom'), ['armed(0)'])
})

row('K19', 'who never reads here by design is not stranded (KS-63)', {}, async (t, scene) => {
  const rows = [
    { persona: 'a', memory_count: 3, mail_total: 5, unread: 1 },
    { persona: 'debris', memory_count: 0, mail_total: 2, unread: 2, retired: true },
    { persona: 'dormant', memory_count: 4, mail_total: 1, unread: 1 },
    { persona: 'outbox', memory_count: 4, mail_total: 1, unread: 1, write_only: true, retired: true },
    { persona: 'outbox-odd', memory_count: 0, unread: 1, write_only: true },
    { persona: 'odd', memory_count: 0, unread: 1 },
  ]
  scene.rule({ on: { endpoint: 'personas' }, effect: directory(...rows) })
  scene.rule({ on: { endpoint: 'inbox' }, effect: complete() })
  scene.pending(counts({ a: 1, debris: 2, dormant: 1, outbox: 1, 'outbox-odd': 1, odd: 1, zz: 1 }))
  scene.start([...ALL, '--rediscover-every', '1'])
  const names = (member: string): string[] => listed(scene, 'a', member)
  await scene.until('all of them', () => names('stranded_inboxes').length === 3)
  t.same(names('stranded_inboxes'), ['debris', 'odd', 'zz'])
  t.same(names('dormant_inboxes'), ['dormant', 'outbox', 'outbox-odd'])
})

row('K20', 'every line of an event says what it wakes for (KS-75)', {}, async (t, scene) => {
  scene.rule({ on: { endpoint: 'personas' }, effect: directory('argus') })
  scene.newest(page([5]), page([5, messageRow(6)]), { status: 500 }, page([5, 6]))
  scene.pending({ status: 500 })
  scene.start([...ALL, '--alert-after', '1'])
  await scene.tells('recovered')
  const { stdout } = tail(scene.home, ['--store', scene.store, '-o', 'monitor', '-n', 'all'])
  const lines = stdout.split('\n').filter(line => line !== '')
  const classes = lines.map(line => {
    const { event, wake_class } = JSON.parse(line) as Record<string, string>
    return `${event} ${wake_class}`
  })
  t.same(classes, [
    'baseline_skipped diagnostic',
    'armed liveness',
    'new mail',
    'alert diagnostic',
    'recovered diagnostic',
  ])
})
