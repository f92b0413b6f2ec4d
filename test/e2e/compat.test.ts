import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { verifyJournal } from '@kim/observer-sdk/verify'
import t, { type Test } from 'tap'
import { loadReleases, type VectorOnDisk } from '../conformance/vectors.js'
import { homeOf, type ProducerProcess, portInstead, readRecords, Scene } from '../kit/kijito/index.js'
import { tail } from './kim-tail-process.js'
import { linesIn, parsed, wholeLines, wholeLinesIn } from './sinks/lines.js'

/** What the generator ran its producers with. */
const PORT = 47_474
const RELEASED_FILES = '/tmp/kim-compat/files'
const RUN = [
  ...['--url', `http://localhost:${PORT}`, '--dialect', 'local', '--allow-loopback', '--all-personas'],
  ...['--poll-seconds', '1', '--wait', '0', '--resync-every', '2', '--rediscover-every', '2'],
]

type Announced = readonly [seq: number, persona: string, id: string]

interface Release extends VectorOnDisk {
  readonly head: number
  readonly announced: readonly Announced[]
  readonly tokens: readonly { readonly token: string; readonly seq: number }[]
  readonly inboxes: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>
}

const releases: Release[] = loadReleases().map(vector => {
  const read = (name: string) => JSON.parse(readFileSync(join(vector.folder, name), 'utf8'))
  return {
    ...vector,
    head: Number(vector.expect['head_seq']),
    announced: read('announced.json'),
    tokens: read('tokens.json'),
    inboxes: read('inboxes.json'),
  }
})

/** A copy of a release's store and of what its clients keep, where commands of today find both. */
function copied({ folder }: Release, home: string): string {
  cpSync(join(folder, 'events'), join(home, 'store/events'), { recursive: true })
  cpSync(join(folder, 'state'), join(home, 'state'), { recursive: true })
  cpSync(join(folder, 'files'), join(home, 'files'), { recursive: true })
  return join(home, 'store')
}

/** The ids of what was announced behind a place, in order; of one persona, or of all. */
const idsAfter = ({ announced }: Release, seq: number, persona?: string): string[] =>
  announced.filter(one => one[0] > seq && (persona ?? one[1]) === one[1]).map(([, , id]) => id)

const seqsUpTo = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)

/** The seqs of the records that kim-tail prints. */
const seqsIn = (stdout: string): number[] => parsed(stdout).map(({ seq }) => Number(seq))

/** What a sink told, split into what the release had announced before and what is new. */
function told(
  release: Release,
  ids: readonly string[],
): { readonly old: string[]; readonly fresh: string[] } {
  const known = new Set(release.announced.map(([, , id]) => id))
  return { old: ids.filter(id => known.has(id)), fresh: ids.filter(id => !known.has(id)) }
}

const hasAll = (ids: readonly string[], wanted: readonly string[]): boolean => {
  const known = new Set(ids)
  return wanted.every(id => known.has(id))
}

/** The ids of event lines; diagnostics carry one too. */
const idsOf = (lines: readonly Readonly<Record<string, unknown>>[]): string[] =>
  lines.map(({ event, persona, id, event_id }) => String(event_id ?? `${persona}:${event}:${id}`))

for (const release of releases) {
  const { name, head } = release

  t.test(`kim-tail - CO-14 goes on from each token of ${name} at the next record`, async t => {
    const home = homeOf(t)
    const store = copied(release, home)
    for (const { token, seq } of release.tokens) {
      const { code, stdout } = tail(home, [
        ...['--store', store, '--after-cursor', token, '--all-records', '-o', 'json'],
      ])
      t.equal(code, 0)
      t.same(seqsIn(stdout), seqsUpTo(seq + 1, head), `after ${seq}`)
      const from = tail(home, ['--store', store, '--cursor', token, '--all-records', '-o', 'json'])
      t.same(seqsIn(from.stdout), seqsUpTo(seq, head), `from ${seq}`)
    }
    t.ok(release.tokens.length > 2)
  })

  t.test(`kim-tail - CO-14 goes on from each consumer file of ${name} at the next record`, async t => {
    const home = homeOf(t)
    const store = copied(release, home)
    const directory = join(home, 'state/kim/clients/kim-tail/cursors')
    const consumers = readdirSync(directory).map(file => file.replace(/\.json$/, ''))
    const placeOf = (consumer: string): number =>
      JSON.parse(readFileSync(join(directory, `${consumer}.json`), 'utf8')).seq
    const behind = consumers.filter(consumer => placeOf(consumer) < head)
    t.ok(behind.length >= 3, 'most of them are before the head')
    for (const consumer of consumers) {
      const seq = placeOf(consumer)
      const read = (): ReturnType<typeof tail> =>
        tail(home, ['--store', store, '--consumer', consumer, '--all-records', '-o', 'json'])
      t.same(seqsIn(read().stdout), seqsUpTo(seq + 1, head), consumer)
      t.equal(read().stdout, '', `${consumer}: once`)
    }
  })

  t.test(`kim-tail --exec - CO-14 hands over what a consumer of ${name} held, and nothing twice`, async t => {
    const home = homeOf(t)
    const store = copied(release, home)
    const file = join(home, 'state/kim/clients/kim-tail/cursors/held.json')
    const { seq } = JSON.parse(readFileSync(file, 'utf8')) as { seq: number }
    const { code, stderr } = tail(home, [
      ...['--store', store, '--consumer', 'held', '-p', 'loom', '--exec', 'echo "$KIJITOMON_EVENT_ID"'],
    ])
    t.equal(code, 0)
    const expected = idsAfter(release, seq, 'loom')
    t.ok(expected.length > 5)
    t.same(stderr.trimEnd().split('\n'), expected)
  })

  t.test(`kim-producer - CO-14 goes on with the store of ${name}, and so do sinks and readers`, async t => {
    const scene = await sceneOf(t, release)
    const { home, store } = scene
    const ledger = moveLedger(release, home, `file:${RELEASED_FILES}/{persona}.jsonl`, '{persona}.jsonl')
    const before = new Map(personasOf(release).map(persona => [persona, linesIn(fileOf(ledger, persona))]))
    const producer = run(scene, [
      ...['--emit', 'stdout-jsonl', '--events-file-template', join(home, 'files/{persona}.jsonl')],
    ])
    const id = scene.send('river')
    const fresh = `river:new:${id}`
    const isIn = (ids: readonly string[]): boolean => ids.includes(fresh)
    /** What the file of a persona is to get of the release's own events. */
    const owed = (persona: string): string[] => {
      const { held, passed } = ledger
      const seq = held.find(([lane]) => lane === persona)?.[1] ?? passed[0]
      return idsAfter(release, seq, persona)
    }
    const since = (persona: string): string[] =>
      idsOf(wholeLinesIn(fileOf(ledger, persona)).slice(before.get(persona)?.length ?? 0))
    await scene.until('stdout', () => isIn(idsOf(wholeLines(producer.stdout))))
    await scene.until('the file', () => isIn(since('river')))
    for (const persona of personasOf(release))
      await scene.until(`the file of ${persona}`, () => hasAll(since(persona), owed(persona)))
    t.equal(await producer.stop(), 0, producer.stderr)

    const stdout = told(release, idsOf(parsed(producer.stdout)))
    t.same(stdout.old, idsAfter(release, passedOf(release, 'stdout-jsonl')))
    t.ok(stdout.old.length > 50)
    t.equal(stdout.fresh.filter(one => one === fresh).length, 1)
    for (const persona of personasOf(release)) {
      const stood = before.get(persona) ?? []
      const lines = linesIn(fileOf(ledger, persona))
      t.same(lines.slice(0, stood.length), stood, `${persona}: what was written stays`)
      const { old, fresh } = told(release, idsOf(lines.slice(stood.length)))
      t.same(old, owed(persona), `${persona}: no repeat and no loss`)
      t.equal(new Set(fresh).size, fresh.length)
    }
    t.ok(ledger.held.length > 0, 'a lane was held')

    const verdict = await verifyJournal({ eventsDir: join(store, 'events') })
    t.equal(verdict.exit, 0, JSON.stringify(verdict.findings))
    const grown = seqsIn(tail(home, ['--store', store, '-n', 'all', '--all-records', '-o', 'json']).stdout)
    t.same(grown, seqsUpTo(1, grown.length))
    t.ok(grown.length > head)
    for (const place of [
      ['--consumer', 'head'],
      ['--cursor-file', join(home, 'state/cursor-file')],
    ]) {
      const { stdout } = tail(home, ['--store', store, ...place, '--all-records', '-o', 'json'])
      t.same(seqsIn(stdout), seqsUpTo(head + 1, grown.length), place.join(' '))
    }
    t.equal(readRecords(store).filter(({ item_id }) => item_id === `river/${id}`).length, 1)
  })

  t.test(`kim-producer - KS-72 the exec sink goes on at the held lane of ${name}`, async t => {
    const scene = await sceneOf(t, release)
    const { home } = scene
    moveLedger(release, home, `file:${RELEASED_FILES}/all.jsonl`, 'all.jsonl')
    const file = join(home, 'files/all.jsonl')
    const stood = linesIn(file)
    const out = join(home, 'out')
    const ids = (): string[] => (existsSync(out) ? readFileSync(out, 'utf8').split('\n').slice(0, -1) : [])
    const command = `echo "$KIJITOMON_EVENT_ID" >> ${out}`
    const producer = run(scene, ['--emit', 'exec-per-event', '--exec', command, '--events-file', file])
    const fresh = `loom:new:${scene.send('loom')}`
    const [lane, seq] = ledgerOf(release, 'exec-per-event').held[0] ?? []
    const owed = (persona: string): string[] => idsAfter(release, seq ?? 0, persona)
    await scene.until('the command', () => ids().includes(fresh))
    // Each inbox has a lane of its own, and the one with the newest message need not be the last.
    for (const persona of personasOf(release))
      await scene.until(`the command for ${persona}`, () => hasAll(ids(), owed(persona)))
    await scene.until('the file', () => idsOf(wholeLinesIn(file)).includes(fresh))
    t.equal(await producer.stop(), 0, producer.stderr)

    t.equal(lane, '', 'the release had one lane for all inboxes')
    const since = told(release, ids())
    for (const persona of personasOf(release)) {
      const expected = owed(persona)
      t.ok(expected.length > 5)
      t.same(
        since.old.filter(id => id.startsWith(`${persona}:`)),
        expected,
        `${persona}: no repeat and no loss`,
      )
    }
    t.equal(since.fresh.filter(id => id === fresh).length, 1)
    const lines = linesIn(file)
    t.same(lines.slice(0, stood.length), stood)
    t.same(told(release, idsOf(lines.slice(stood.length))).old, [], 'the file had everything')
  })
}

/** A server with the mail that the release's server had, beside a copy of the store. */
async function sceneOf(t: Test, release: Release): Promise<Scene> {
  const scene = await Scene.open(homeOf(t), { dialect: 'local' })
  t.teardown(() => scene.close())
  copied(release, scene.home)
  for (const [persona, messages] of Object.entries(release.inboxes)) {
    await scene.tell({ do: 'persona', persona })
    for (const message of messages) await scene.tell({ do: 'send', ...message })
  }
  return scene
}

/** A producer for which the server's recorded port leads to the one of this test. */
function run(scene: Scene, flags: readonly string[]): ProducerProcess {
  return scene.start([...RUN, ...flags], {}, portInstead(PORT, Number(new URL(scene.url).port)))
}

interface Progress {
  readonly passed: readonly [seq: number, writer: string]
  readonly held: readonly (readonly [lane: string, seq: number])[]
  readonly names: readonly (readonly [persona: string, name: string])[]
  readonly sink: string
}

interface MovedLedger extends Progress {
  readonly directory: string
}

const sinksOf = (state: string): string => join(state, 'kim/clients/kim-producer/sinks')

function ledgers(state: string): { readonly path: string; readonly progress: Progress }[] {
  return readdirSync(sinksOf(state), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.json'))
    .map(name => join(sinksOf(state), name))
    .map(path => ({ path, progress: JSON.parse(readFileSync(path, 'utf8')) }))
}

/** What the ledger of a sink says; it is found by what it says itself, not by its name. */
function ledgerOf({ folder }: Release, sink: string): Progress {
  const found = ledgers(join(folder, 'state')).find(({ progress }) => progress.sink === sink)
  if (found === undefined) throw new Error(`the release has no ledger of ${sink}`)
  return found.progress
}

const passedOf = (release: Release, sink: string): number => ledgerOf(release, sink).passed[0]

const personasOf = ({ inboxes }: Release): string[] => Object.keys(inboxes)

/** Files of a sink are in this test's own directory, so its ledger is moved to the name that belongs to that. */
function moveLedger(release: Release, home: string, sink: string, file: string): MovedLedger {
  const found = ledgers(join(home, 'state')).find(({ progress }) => progress.sink === sink)
  if (found === undefined) throw new Error(`the release has no ledger of ${sink}`)
  const directory = join(home, 'files')
  const identity = `file:${join(directory, file)}`
  // As the release names a ledger: the test holds that rule too.
  const name = createHash('sha256').update(identity).digest('hex').slice(0, 16)
  const path = join(dirname(found.path), `${name}.json`)
  renameSync(found.path, path)
  writeFileSync(path, `${JSON.stringify({ ...found.progress, sink: identity })}\n`)
  return { ...ledgerOf(release, sink), directory }
}

function fileOf({ directory, names }: MovedLedger, persona: string): string {
  const name = names.find(([whose]) => whose === persona)?.[1]
  if (name === undefined) throw new Error(`no file name for ${persona}`)
  return join(directory, `${name}.jsonl`)
}
