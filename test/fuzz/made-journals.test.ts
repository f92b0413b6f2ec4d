import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { coldStart, openObserver } from '@kim/observer-sdk'
import { fullScan } from '@kim/replay/internal'
import t, { type Test } from 'tap'
import { coldPart, type NaiveResult, readNaively } from '../conformance/naive/naive-reader.js'
import { loadRules } from '../conformance/naive/rules.js'
import { fastTmpdir, isSoak, seedsToRun } from '../kit/index.js'
import { layOut, type MadeCursor } from './journal-files.js'
import { type MadeJournal, makeJournal } from './journal-maker.js'

const seeds = seedsToRun(isSoak() ? 20_000 : 2000)
const isWhole = seeds.length > 1
const rules = loadRules('manifest')

/** What the journals were made of, and what reading them came to: a fuzz that meets nothing proves nothing. */
const met = new Map<string, number>()
const meet = (...names: readonly string[]): void => {
  for (const name of names) met.set(name, (met.get(name) ?? 0) + 1)
}

/** One journal on disk, and what the naive reader makes of it. */
interface Case {
  readonly journal: MadeJournal
  readonly eventsDir: string
  readonly cursor: MadeCursor | undefined
  readonly wanted: NaiveResult
}

function folder(t: Test): string {
  const path = mkdtempSync(join(fastTmpdir(), 'kim-fuzz-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function makeCase(seed: number, eventsDir: string): Case {
  const journal = makeJournal(seed)
  const { cursor, traits } = layOut(journal, eventsDir)
  const wanted = readNaively(eventsDir, cursor, rules)
  meet(journal.profile, ...journal.traits, ...traits, ...Object.keys(wanted.anomalies))
  meet(`status ${wanted.status.kind}`, `gap ${wanted.gap?.reason ?? 'none'}`)
  if (wanted.registry_authoritative) meet('registry authoritative')
  if (wanted.cursor.checkpoint_seq > 0) meet('verified checkpoint')
  return { journal, eventsDir, cursor, wanted }
}

/** What differs between two results, short enough to be read. */
function difference(seed: number, wanted: object, found: object): string[] {
  const short = (value: unknown): string => (JSON.stringify(value) ?? 'absent').slice(0, 400)
  return Object.entries(wanted).flatMap(([name, value]) => {
    const other = (found as Record<string, unknown>)[name]
    return isDeepStrictEqual(value, other)
      ? []
      : [`KIM_SEED=${seed}: ${name} is ${short(other)} and should be ${short(value)}`]
  })
}

/** The reader that hosts embed: what it holds and hands over once it is open. */
async function observe({ eventsDir, cursor, wanted }: Case): Promise<object> {
  const observer = await openObserver({ eventsDir, cursors: { load: () => cursor, save: () => undefined } })
  const news: number[] = []
  let gap: unknown = null
  const digest = observer.digest()
  const isOwed = cursor !== undefined && (wanted.gap !== null || wanted.news.length > 0)
  if (isOwed) {
    let isFirst = true
    for await (const change of observer.changes()) {
      // What is missing later, between two segments, is told later.
      if (isFirst) gap = change.gap ?? null
      isFirst = false
      news.push(...change.news.map(({ seq }) => seq))
      if (news.length >= wanted.news.length) break
    }
  }
  const { head, state, status } = observer
  const { attentionRequired, registryAuthoritative } = observer.board()
  await observer.close()
  return {
    attention_required: attentionRequired,
    digest,
    entities: state.size,
    gap,
    head_seq: head.seq,
    news,
    registry_authoritative: registryAuthoritative,
    status: status.kind === 'degraded' ? 'live' : status.kind,
  }
}

// The journals are many, and each is bounded.
t.setTimeout(0)

t.test('readers - agree with the naive reader on every journal (OB-8, OB-10)', { timeout: 0 }, async t => {
  const eventsDir = join(folder(t), 'events')
  const differences = { full: [] as string[], cold: [] as string[], observer: [] as string[] }
  let observed = 0
  for (const seed of seeds) {
    const one = makeCase(seed, eventsDir)
    const { cursor, wanted } = one
    differences.full.push(...difference(seed, wanted, await fullScan(eventsDir, cursor)))
    differences.cold.push(...difference(seed, coldPart(wanted), (await coldStart(eventsDir, cursor)).result))
    if (seed % 10 !== 0 && isWhole) continue
    observed += 1
    const { attention_required, digest, entities, gap, head_seq, news, registry_authoritative } = wanted
    // What is not understood may stand before a checkpoint, where a cold start does not look.
    const status = wanted.status.kind === 'degraded' ? 'live' : wanted.status.kind
    const seen = { attention_required, digest, entities, gap, head_seq, registry_authoritative, status }
    const expected = { ...seen, news: news.map(({ seq }) => seq) }
    differences.observer.push(...difference(seed, expected, await observe(one)))
  }
  t.same(differences.full.slice(0, 20), [], 'full scan')
  t.same(differences.cold.slice(0, 20), [], 'cold start')
  t.same(differences.observer.slice(0, 20), [], 'an observer, open and handing over')
  t.comment(`${seeds.length} journals from seed ${seeds[0]}, ${observed} of them through an observer as well`)
})

/** Everything the maker can put into a journal or the directory around it. */
const TRAITS = [
  ...['ours', 'foreign', 'mixed', 'chaos', 'blank', 'bom', 'twisted', 'spoilt', 'repeat', 'regress', 'gap'],
  ...['run', 'run short', 'run gap', 'run order', 'run id', 'run n', 'run writer', 'run split', 'run bad'],
  ...['run late', 'run pending', 'fragment newest', 'fragment sealed'],
  ...['duplicate writer', 'duplicate other', 'duplicate overwrite'],
  ...['payload blob', 'payload absent', 'payload wrong', 'payload invalid', 'payload both', 'payload big'],
  ...['checkpoint good', 'checkpoint orphan', 'checkpoint corrupt', 'checkpoint project', 'checkpoint count'],
  ...[
    'checkpoint version',
    'checkpoint mismatch',
    'checkpoint dropped',
    'checkpoint name',
    'checkpoint text',
  ],
  ...['archive plain', 'archive gzip', 'archive both', 'archive spoiltGzip', 'archive shadowed'],
  ...['history gone', 'hole in files', 'no store', 'junk', 'misnamed', 'link', 'end hidden'],
  ...[
    'cursor none',
    'cursor there',
    'cursor otherWriter',
    'cursor anyWriter',
    'cursor above',
    'cursor within',
  ],
  ...['status live', 'status no_store', 'status degraded', 'status incomplete', 'verified checkpoint'],
  ...['gap none', 'gap archived', 'gap missing', 'gap rewound', 'registry authoritative'],
]

const ANOMALIES = [
  ...['malformed', 'future', 'duplicate_line', 'duplicate_same_writer', 'duplicate_other_writer'],
  ...['duplicate_overwrite', 'entity_rev_jump', 'seq_hole', 'seq_regressed', 'tx_incomplete'],
  ...['payload_ref_invalid', 'payload_ref_ignored', 'blob_missing', 'blob_mismatch', 'segment_misnamed'],
  'checkpoint_rejected',
]

t.test('maker - every kind of thing was met', { skip: !isWhole && 'one journal only' }, async t => {
  t.same(
    [...TRAITS, ...ANOMALIES].filter(name => !met.has(name)),
    [],
  )
  const rare = [...met].sort(([, a], [, b]) => a - b).slice(0, 5)
  t.comment(
    `${met.size} kinds met; the rarest: ${rare.map(([name, times]) => `${name} ${times}`).join(', ')}`,
  )
})

t.test('maker - its checkpoints are true: with all before them gone, state is the same (JF-69)', async t => {
  const eventsDir = join(folder(t), 'events')
  const lies: string[] = []
  let compared = 0
  for (const seed of seeds.slice(0, 2000)) {
    const journal = makeJournal(seed)
    if (!journal.checkpoints.some(checkpoint => checkpoint.true)) continue
    layOut(journal, eventsDir)
    const whole = readNaively(eventsDir, undefined, rules)
    const head = whole.cursor.checkpoint_seq
    const numbers = journal.segments.map(({ number }) => number)
    const covered = numbers.filter((_, at) => (numbers[at + 1] ?? Infinity) <= head + 1)
    if (numbers[0] !== 1 || whole.status.reasons.includes('history') || covered.length === 0) continue
    for (const number of covered) {
      const name = `seg-${String(number).padStart(8, '0')}.jsonl`
      for (const path of [name, join('archive', name), join('archive', `${name}.gz`)])
        rmSync(join(eventsDir, path), { force: true })
    }
    const rest = readNaively(eventsDir, undefined, rules)
    // The ref may have stood in what is gone now.
    if (rest.cursor.checkpoint_seq !== head) continue
    compared += 1
    const { digest, entities, head_seq, registry_authoritative } = whole
    lies.push(...difference(seed, { digest, entities, head_seq, registry_authoritative }, rest))
  }
  t.same(lies, [])
  if (isWhole) t.ok(compared > 50)
  t.comment(`${compared} checkpoints stood in for the history before them`)
})
