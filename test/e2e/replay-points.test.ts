import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { jcs } from '@kim/manifest'
import {
  differenceOf,
  openCopy,
  type Point,
  type StateDocument,
  stateAt,
  stateDocument,
  stateLines,
} from '@kim/replay/internal'
import t from 'tap'
import { listSegments, splitLines } from '../conformance/naive/files.js'
import { foldNaively, readNaively } from '../conformance/naive/naive-reader.js'
import { loadRules } from '../conformance/naive/rules.js'
import { Prng, Scratch, seedsToRun } from '../kit/index.js'
import { runSeed } from '../sim/seeds.js'
import { Simulation } from '../sim/simulation.js'
import { Tally } from '../sim/tally.js'
import { applyPatch } from './replay-patch.js'

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))
const rules = loadRules(join(root, 'manifest'))
const pad = rules.classes.segment_pad
const POINTS = 500
const POINTS_PER_HISTORY = 10

t.setTimeout(0)

/** The lines before the first record above a seq, as a directory of their own with nothing else in it. */
function cut(eventsDir: string, seq: number, dir: string): void {
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(join(dir, 'blobs'), { recursive: true })
  for (const { number, bytes } of listSegments(eventsDir, pad)) {
    const lines = splitLines(bytes).map(line => line.toString('latin1'))
    const beyond = lines.findIndex(line => seqOf(line) > seq)
    const kept = beyond === -1 ? lines : lines.slice(0, beyond)
    const text = kept.map(line => `${line}\n`).join('')
    if (text !== '' || beyond !== 0)
      writeFileSync(join(dir, `seg-${String(number).padStart(pad, '0')}.jsonl`), text, 'latin1')
    if (beyond !== -1) return
  }
}

function seqOf(line: string): number {
  try {
    const value = JSON.parse(Buffer.from(line, 'latin1').toString('utf8')) as {
      seq?: number
      v?: number
    } | null
    return value?.v === 2 ? (value.seq ?? 0) : 0
  } catch {
    return 0
  }
}

t.test(
  'CL-42 CL-43 at, diff - are what a naive reader of the first N records comes to, whatever they began with',
  async t => {
    const scratch = new Scratch('kim-points-')
    t.teardown(() => scratch.remove())
    const random = new Prng(42)
    const short = join(scratch.root, '..', `${scratch.root.split('/').at(-1)}-cut`)
    t.teardown(() => rmSync(short, { recursive: true, force: true }))
    let points = 0
    let fromCheckpoint = 0
    let pairs = 0
    for (const seed of seedsToRun(POINTS / POINTS_PER_HISTORY, 7000)) {
      t.equal(await runSeed(seed, new Simulation(seed), scratch, new Tally()), undefined)
      const eventsDir = scratch.root
      const { seq: head } = foldNaively(eventsDir, rules).head
      const journal = openCopy(eventsDir)
      for (let i = 0; i < POINTS_PER_HISTORY; i++) {
        const seq = random.between(1, head)
        cut(eventsDir, seq, short)
        const naive = foldNaively(short, rules)
        const state = await stateAt(journal, { kind: 'seq', seq })
        const document = stateDocument(state, [])
        const ours = Object.values(document.entities).flatMap(ofType => Object.values(ofType))
        points++
        if (document.base !== null) fromCheckpoint++
        const same =
          document.entity_count === naive.entities.length &&
          ours.length === naive.entities.length &&
          document.registry_authoritative === naive.registryAuthoritative &&
          document.at?.seq === naive.last?.seq &&
          images(document.entities) === images(byTypeAndId(naive.entities)) &&
          document.digest === readNaively(short, undefined, rules).digest
        if (!same) t.fail(`seed ${seed}: at ${seq} differs`)
        const again = await stateAt(openCopy(eventsDir), { kind: 'seq', seq })
        if (printed(document) !== printed(stateDocument(again, [])))
          t.fail(`seed ${seed}: at ${seq} prints two things`)
        if (i % 2 === 0) {
          const other = random.between(0, head)
          const points = { from: { kind: 'seq', seq }, to: { kind: 'seq', seq: other } } as const
          const { patch, changes } = await differenceOf(journal, points, [])
          const end = printed(stateDocument(await stateAt(journal, points.to), []))
          const applied = applyPatch(JSON.parse(printed(document)), JSON.parse(JSON.stringify(patch)))
          if (jcs(applied) !== jcs(JSON.parse(end)))
            t.fail(`seed ${seed}: the patch from ${seq} to ${other} leads elsewhere`)
          if (changes.some(({ seqs }) => seqs.length === 0))
            t.fail(`seed ${seed}: ${seq} to ${other}: a change without a record`)
          pairs++
        }
        if (state.missing.exit !== 0) t.fail(`seed ${seed}: at ${seq} lacks something`)
      }
    }
    t.equal(points, POINTS)
    t.comment(`${pairs} pairs`)
    t.ok(fromCheckpoint > 50, `${fromCheckpoint} of ${points} began with a checkpoint`)
  },
)

function printed(document: StateDocument): string {
  return [...stateLines(document)].join('')
}

type Entities = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Revision and payload of each entity: the parts that a naive fold holds. */
function images(entities: Entities): string {
  return jcs(
    Object.entries(entities)
      .flatMap(([type, ofType]) =>
        Object.entries(ofType).map(([id, image]) => {
          const { entity_rev, payload, payload_ref } = image as Record<string, unknown>
          return jcs([type, id, entity_rev ?? null, payload ?? payload_ref ?? null])
        }),
      )
      .sort(),
  )
}

function byTypeAndId(entities: readonly object[]): Entities {
  const all: Record<string, Record<string, unknown>> = {}
  for (const entity of entities as { item_type: string; item_id: string }[]) {
    const ofType = all[entity.item_type] ?? {}
    all[entity.item_type] = ofType
    ofType[entity.item_id] = entity
  }
  return all
}

t.test('CL-42 at - agrees at the end of every vector with what any reader comes to', async t => {
  const vectors = join(root, 'spec', 'vectors')
  let agree = 0
  for (const name of readdirSync(vectors)) {
    const eventsDir = join(vectors, name, 'events')
    if (!existsSync(eventsDir)) continue
    const expect = JSON.parse(readFileSync(join(vectors, name, 'expect.json'), 'utf8')) as Record<
      string,
      unknown
    >
    const { digest, entity_count, attention_required, registry_authoritative } = stateDocument(
      await stateAt(openCopy(eventsDir), { kind: 'end' }),
      [],
    )
    const ours = { digest, entities: entity_count, attention_required, registry_authoritative }
    const theirs = Object.fromEntries(Object.keys(ours).map(member => [member, expect[member]]))
    if (jcs(ours) === jcs(theirs)) agree++
    else t.same(ours, theirs, name)
  }
  t.ok(agree > 250, `${agree} vectors`)
})

t.test('CL-43 diff - leads from the beginning of every vector to its end and back', async t => {
  const vectors = join(root, 'spec', 'vectors')
  let pairs = 0
  for (const name of readdirSync(vectors)) {
    const eventsDir = join(vectors, name, 'events')
    if (!existsSync(join(eventsDir, `seg-${'1'.padStart(pad, '0')}.jsonl`))) continue
    const journal = openCopy(eventsDir)
    const at = async (point: Point): Promise<unknown> =>
      JSON.parse(printed(stateDocument(await stateAt(journal, point), [])))
    const points = [{ kind: 'seq', seq: 0 }, { kind: 'end' }] as const
    const states = [await at(points[0]), await at(points[1])]
    for (const [a, b] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const { patch } = await differenceOf(journal, { from: points[a], to: points[b] }, [])
      const applied = applyPatch(structuredClone(states[a]) as never, JSON.parse(JSON.stringify(patch)))
      if (jcs(applied) !== jcs(states[b] as never)) t.fail(`${name}: from ${a} to ${b}`)
      pairs++
    }
  }
  t.ok(pairs > 400, `${pairs} pairs`)
})
