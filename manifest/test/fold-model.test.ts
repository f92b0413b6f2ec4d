import { type AnomalyKind, classOf, type ReadRecord, type Tx } from '@kim/manifest'
import t from 'tap'
import { type Decoded, decodeLine } from '../dist/record.js'
import { EntityFold } from './kit/entity-fold.js'
import { Feed } from './kit/feed.js'
import { Prng, seedOfRun } from './kit/prng.js'

/** What a reader must come to, computed in the plainest way: every question is asked of the whole history. */
interface Model {
  readonly state: Record<string, number>
  readonly head: number
  readonly activity: number[]
  readonly applied: number[]
  readonly counts: Partial<Record<AnomalyKind, number>>
}

interface Read {
  readonly segment: number
  readonly text: string
  readonly decoded: Decoded
}

interface Settled extends Read {
  readonly record: ReadRecord
  readonly isComplete: boolean
}

const txOf = (line: Read | undefined): Tx | undefined => {
  const tx = line?.decoded.kind === 'record' ? line.decoded.record.tx : undefined
  return tx === 'malformed' ? undefined : tx
}

/** The run that begins at a line: complete, broken, or still open where the journal ends. */
function runAt(lines: readonly Read[], at: number): { length: number; end: 'complete' | 'broken' | 'open' } {
  const first = lines[at]
  const tx = txOf(first)
  if (first === undefined || tx === undefined || tx.i !== 1) return { length: 1, end: 'broken' }
  for (let i = 1; i < tx.n; i++) {
    const next = lines[at + i]
    if (next === undefined)
      return { length: i, end: first.segment === lastSegment(lines) ? 'open' : 'broken' }
    const other = txOf(next)
    const writer = (line: Read): unknown => line.decoded.kind === 'record' && line.decoded.record.writer
    const goesOn =
      next.segment === first.segment &&
      other?.id === tx.id &&
      other.n === tx.n &&
      other.i === i + 1 &&
      writer(next) === writer(first)
    if (!goesOn) return { length: i, end: 'broken' }
  }
  return { length: tx.n, end: 'complete' }
}

const lastSegment = (lines: readonly Read[]): number => lines.at(-1)?.segment ?? 0

function settle(lines: readonly Read[]): (Settled | Read)[] {
  const settled: (Settled | Read)[] = []
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as Read
    if (line.decoded.kind !== 'record') {
      settled.push(line)
      at++
      continue
    }
    const hasTx = line.decoded.record.tx !== undefined
    const run = hasTx ? runAt(lines, at) : { length: 1, end: 'complete' as const }
    if (run.end === 'open') return settled
    for (const each of lines.slice(at, at + run.length)) {
      if (each.decoded.kind === 'record') {
        settled.push({ ...each, record: each.decoded.record, isComplete: run.end === 'complete' })
      }
    }
    at += run.length
  }
  return settled
}

const upserts = new Set(['entity-state', 'registry-lifecycle'])

function effectOf({ action, payload, item_id }: ReadRecord): 'upsert' | 'remove' | 'activity' | 'meta' {
  const actionClass = classOf(action)
  if (actionClass === 'journal-meta') return 'meta'
  if (item_id === undefined) return 'activity'
  if (actionClass === 'tombstone') return 'remove'
  const mayUpsert = actionClass === undefined || upserts.has(actionClass)
  return mayUpsert && payload !== undefined ? 'upsert' : 'activity'
}

function model(lines: readonly Read[]): Model {
  const state: Record<string, number> = {}
  const revisions: Record<string, number> = {}
  const counts: Partial<Record<AnomalyKind, number>> = {}
  const activity: number[] = []
  const applied: number[] = []
  const earlier: Settled[] = []
  const skipped: number[][] = []
  const repaired = new Set<unknown>()
  let highest = 0
  let head = 0
  const count = (kind: AnomalyKind): void => {
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  const see = (seq: number): void => {
    const hole = Array.from({ length: Math.max(0, seq - highest - 1) }, (_, i) => highest + 1 + i)
    if (hole.length > 0) skipped.push(hole)
    highest = Math.max(highest, seq)
  }
  for (const line of settle(lines)) {
    const { decoded } = line
    if (decoded.kind === 'malformed') count('malformed')
    if (decoded.kind === 'future') {
      count('future')
      if (decoded.seq !== undefined) see(decoded.seq)
    }
    if (!('record' in line)) continue
    const { record } = line
    const { seq, writer, action, item_type, item_id, entity_rev, payload } = record
    if (!line.isComplete) {
      count('tx_incomplete')
      see(seq)
      head = Math.max(head, seq)
      continue
    }
    const effect = effectOf(record)
    const changes = effect === 'upsert' || effect === 'remove'
    const same = earlier.filter(each => each.record.seq === seq)
    if (same.some(each => each.segment === line.segment && each.text === line.text)) {
      count('duplicate_line')
      continue
    }
    const overwrites = (each: Settled): boolean =>
      changes &&
      entity_rev !== undefined &&
      ['upsert', 'remove'].includes(effectOf(each.record)) &&
      each.record.item_type === item_type &&
      each.record.item_id === item_id &&
      each.record.entity_rev === entity_rev
    if (same.some(each => each.record.writer === writer)) count('duplicate_same_writer')
    else if (same.some(overwrites)) count('duplicate_overwrite')
    else if (same.length > 0) count('duplicate_other_writer')
    else if (seq <= highest) count('seq_regressed')
    earlier.push(line)
    see(seq)
    head = Math.max(head, seq)
    applied.push(seq)
    const name = `${item_type} ${item_id}`
    if (changes) {
      const known = revisions[name]
      if (entity_rev !== undefined && known !== undefined && entity_rev > known + 1) count('entity_rev_jump')
      if (entity_rev !== undefined) revisions[name] = entity_rev
    }
    if (effect === 'upsert') state[name] = seq
    if (effect === 'remove') delete state[name]
    if (effect === 'activity' || record.event !== undefined) activity.push(seq)
    if (action === 'seq_repair') {
      for (let n = Number(payload?.['from']); n <= Number(payload?.['to']); n++) repaired.add(n)
    }
  }
  for (const hole of skipped) if (hole.some(n => !repaired.has(n))) count('seq_hole')
  return { state, head, activity, applied, counts }
}

function randomLine(prng: Prng, next: number): string {
  const dice = prng.int(40)
  if (dice === 0) return 'garbage'
  if (dice === 1) return '\r'
  const seq = prng.pick([next, next, next, next, next + 1, Math.max(1, next - 1 - prng.int(4))])
  if (dice === 2) return JSON.stringify({ v: 3, seq })
  if (dice === 3) {
    const payload = { from: Math.max(1, seq - prng.int(3)), to: seq + prng.int(3) - 1 }
    return JSON.stringify({ v: 2, seq, action: 'seq_repair', item_type: 'journal', payload })
  }
  const n = prng.int(4)
  return JSON.stringify({
    v: 2,
    seq,
    action: prng.pick(['create', 'update', 'update', 'delete', 'run_progress', 'journal_note', 'frobnicate']),
    item_type: prng.pick(['message', '__proto__']),
    item_id: prng.pick(['a', 'b', 'constructor', undefined]),
    writer: prng.pick(['w_1-a', 'w_1-a', 'w_1-a', 'w_2-b', undefined]),
    entity_rev: prng.pick([1, 2, 3, 5, undefined]),
    payload: prng.pick([{}, {}, {}, undefined]),
    event: prng.pick([undefined, undefined, 'new']),
    tx: prng.pick([
      undefined,
      undefined,
      undefined,
      { id: prng.pick(['t', 'u']), i: 1 + prng.int(3), n: 1 + n },
      null,
    ]),
  })
}

/** A journal that is mostly in order, with whole transactions, repeated lines and lines of all other kinds. */
function randomJournal(prng: Prng): string[][] {
  const segments: string[][] = []
  let next = 1
  for (let s = 1 + prng.int(3); s > 0; s--) {
    const segment: string[] = []
    for (let l = prng.int(14); l > 0; l--) {
      const dice = prng.int(10)
      if (dice === 0 && segment.length > 0) segment.push(prng.pick(segment))
      else if (dice === 1) {
        const n = 1 + prng.int(4)
        for (let i = 1; i <= n; i++) {
          const tx = { id: `${next}`, i, n }
          segment.push(
            JSON.stringify({
              v: 2,
              seq: next + i - 1,
              action: 'create',
              item_type: 'm',
              item_id: 'x',
              payload: {},
              tx,
            }),
          )
        }
        if (prng.int(4) === 0) segment.splice(segment.length - 1 - prng.int(n), 1)
        next += n
      } else {
        segment.push(randomLine(prng, next))
        next += prng.int(8) > 0 ? 1 : 2
      }
    }
    segments.push(segment)
  }
  return segments
}

t.test('fold - agrees with the plainest reader on random journals, JF-40 to JF-50', async t => {
  const prng = new Prng(seedOfRun())
  const journals = 6000
  const met = new Map<string, number>()
  for (let run = 0; run < journals; run++) {
    const segments = randomJournal(prng)
    const applied: number[] = []
    const fold = new EntityFold({}, { onRecord: ({ seq }) => applied.push(seq) })
    const feed = new Feed(fold)
    const lines: Read[] = []
    for (const [segment, texts] of segments.entries()) {
      feed.beginSegment()
      for (const text of texts) {
        const bytes = Buffer.from(text)
        feed.line(bytes)
        const decoded = decodeLine(bytes)
        if (decoded.kind !== 'blank') lines.push({ segment, text, decoded })
      }
    }
    // A segment after the last line that counts, however empty, means that nothing can be waited for.
    if (lastSegment(lines) < segments.length - 1) {
      lines.push({ segment: segments.length - 1, text: '', decoded: { kind: 'blank' } })
    }
    const expected = model(lines)
    const actual: Model = {
      state: Object.fromEntries(
        [...fold.entities.images()].map(({ item_type, item_id, seq }) => [`${item_type} ${item_id}`, seq]),
      ),
      head: fold.head.seq,
      activity: fold.activity.map(({ seq }) => seq),
      applied,
      counts: Object.fromEntries(Object.entries(fold.anomalies).filter(([, n]) => n > 0)),
    }
    for (const kind of Object.keys(actual.counts)) met.set(kind, (met.get(kind) ?? 0) + 1)
    if (JSON.stringify(ordered(actual)) !== JSON.stringify(ordered(expected))) {
      t.same(
        actual,
        expected,
        `seed ${prng.seed}, journal ${run}:\n${segments.map(s => s.join('\n')).join('\n--\n')}`,
      )
      return
    }
    if (fold.entities.size !== Object.keys(expected.state).length) t.fail(`size, journal ${run}`)
  }
  t.comment(`model: ${journals} journals, seed ${prng.seed}: ${JSON.stringify(Object.fromEntries(met))}`)
  const kinds: AnomalyKind[] = [
    'malformed',
    'future',
    'duplicate_line',
    'duplicate_same_writer',
    'duplicate_other_writer',
    'duplicate_overwrite',
    'entity_rev_jump',
    'seq_hole',
    'seq_regressed',
    'tx_incomplete',
  ]
  for (const kind of kinds) t.ok(met.has(kind), `${kind} was met`)
})

/** Entries of state and counts in one order, so that texts can be compared. */
function ordered({ state, counts, ...rest }: Model): unknown {
  return { ...rest, state: Object.entries(state).sort(), counts: Object.entries(counts).sort() }
}
