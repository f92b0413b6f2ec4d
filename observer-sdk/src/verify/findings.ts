import { dirname } from 'node:path'
import { formatCount, parseSegmentName, safeText, shellWord, storePaths } from '@kim/manifest'

/** 0 explained or harmless, 5 a hole, 6 corruption. */
export type FindingWeight = 0 | 5 | 6

/** Each kind of finding: its weight, what it means, and whether `journal repair` notes or moves it. */
export const findingKinds = {
  unterminated_tail: { weight: 0, means: 'the newest segment ends with an incomplete line' },
  adjudicated: { weight: 0, means: 'a damaged line that a note names' },
  tx_abandoned: { weight: 0, means: 'a note names records that belong together and were not all written' },
  tx_open_tail: { weight: 0, means: 'the newest records belong together and are not all written yet' },
  hole_repaired: { weight: 0, means: 'missing records that a repair noted' },
  redacted: { weight: 0, means: 'redactions changed a sealed segment, and notes name them' },
  redaction_pending: {
    weight: 0,
    means: 'content to erase is still there: start the producer, or see its log',
  },
  history_starts_at: { weight: 0, means: 'older records are not available' },
  segment_misnamed: { weight: 0, means: 'a file without a valid name of a segment was ignored' },
  checkpoint_orphan: { weight: 0, means: 'a checkpoint that no record names, as after a crash' },
  checkpoint_absent: { weight: 0, means: 'the file of a checkpoint is missing' },
  meta_ahead: {
    weight: 0,
    means: 'the newest records are missing: they were lost, or this is a copy made while the producer ran',
  },
  future: { weight: 0, means: 'a line of a later version of KIM was ignored' },
  foreign: { weight: 0, means: 'another program wrote this journal' },
  seq_hole: { weight: 5, means: 'records are missing', repairable: true },
  malformed_line: { weight: 6, means: 'a line is not a valid record', repairable: true },
  duplicate_seq: { weight: 6, means: 'two records have the same seq' },
  seq_regressed: { weight: 6, means: 'a seq is lower than that of an earlier record' },
  revision: { weight: 6, means: 'a revision of an entity is missing or there twice' },
  schema: { weight: 6, means: 'a record breaks a rule of the format' },
  tx_incomplete: { weight: 6, means: 'records that belong together were not all written', repairable: true },
  chain_broken: { weight: 6, means: 'a sealed segment was changed, renamed or removed' },
  seal_missing: { weight: 6, means: 'a segment does not begin with the seal of the one before' },
  checkpoint_corrupt: { weight: 6, means: 'a checkpoint file is damaged', repairable: true },
  checkpoint_mismatch: { weight: 6, means: 'a checkpoint does not agree with the records' },
  blob_missing: { weight: 6, means: 'the file of a long payload is missing' },
  blob_mismatch: { weight: 6, means: 'the file of a long payload was changed' },
  unreadable: { weight: 6, means: 'a file cannot be read', repairable: true },
} as const

/** What a finding is about. */
export type FindingKind = keyof typeof findingKinds

/** Where a finding is, as exactly as its check knows. */
export interface FindingLocation {
  /** File name of the segment. */
  readonly segment?: string | undefined
  /** Byte offset of the line in the segment's content. */
  readonly offset?: number | undefined
  readonly seq?: number | undefined
}

/** One occurrence of a finding. */
export interface FindingExample extends FindingLocation {
  readonly detail: string
}

/** All occurrences of one kind: counted exactly, the first few shown. */
export interface Finding {
  /** How often it occurred. */
  readonly count: number
  readonly weight: FindingWeight
  readonly examples: readonly FindingExample[]
}

/** Findings by kind; a kind that did not occur is absent. */
export type Findings = Partial<Record<FindingKind, Finding>>

const examplesMax = 10
const detailCharsMax = 300

/** Collects what the checks report. */
export class FindingLog {
  readonly #kinds = new Map<FindingKind, { count: number; examples: FindingExample[] }>()

  /** Counts one occurrence and keeps it as an example while there are few. */
  report(kind: FindingKind, place: FindingLocation, detail: string): void {
    const entry = this.#kinds.get(kind) ?? { count: 0, examples: [] }
    this.#kinds.set(kind, entry)
    entry.count += 1
    if (entry.examples.length >= examplesMax) return
    const { segment, offset, seq } = place
    entry.examples.push({
      detail: detail.length <= detailCharsMax ? detail : `${detail.slice(0, detailCharsMax)}…`,
      ...(segment === undefined ? {} : { segment }),
      ...(offset === undefined ? {} : { offset }),
      ...(seq === undefined ? {} : { seq }),
    })
  }

  /** How often a kind was reported so far. */
  count(kind: FindingKind): number {
    return this.#kinds.get(kind)?.count ?? 0
  }

  /** Forgets a kind: its rule does not apply to the journal after all. */
  drop(kind: FindingKind): void {
    this.#kinds.delete(kind)
  }

  /** The findings, kinds in the order of the weight table. In a foreign journal only `unreadable` has weight. */
  close(foreign: boolean): Findings {
    const findings: Findings = {}
    for (const kind of Object.keys(findingKinds) as FindingKind[]) {
      const entry = this.#kinds.get(kind)
      if (entry === undefined) continue
      const weight = !foreign || kind === 'unreadable' ? findingKinds[kind].weight : 0
      findings[kind] = { ...entry, weight }
    }
    return findings
  }
}

/** Findings held for a note that may explain them later; with more, a journal is simply damaged. */
const AWAITED_MAX = 100_000

/** Findings of one kind that a later note may explain. */
export class AwaitedFindings {
  readonly #log: FindingLog
  readonly #kind: FindingKind
  readonly #held = new Map<string, { readonly place: FindingLocation; readonly detail: string }[]>()
  #count = 0

  constructor(log: FindingLog, kind: FindingKind) {
    this.#log = log
    this.#kind = kind
  }

  /** Holds a finding under the key by which a note names it. Without a key no note does. */
  hold(key: string | undefined, place: FindingLocation, detail: string): void {
    if (key === undefined || this.#count >= AWAITED_MAX) {
      this.#log.report(this.#kind, place, detail)
      return
    }
    this.#count += 1
    const alike = this.#held.get(key)
    if (alike === undefined) this.#held.set(key, [{ place, detail }])
    else alike.push({ place, detail })
  }

  /** A note names this key: reports the finding as what the note makes of it. False if none is held. */
  explain(key: string, as: FindingKind): boolean {
    const found = this.#held.get(key)?.shift()
    if (found === undefined) return false
    this.#count -= 1
    this.#log.report(as, found.place, found.detail)
    return true
  }

  /** Reports what no note explained. */
  end(): void {
    for (const findings of this.#held.values())
      for (const { place, detail } of findings) this.#log.report(this.#kind, place, detail)
    this.#held.clear()
  }
}

/** Whether a repair notes or moves what was found. */
export function isRepairable(kind: string): boolean {
  return kind in findingKinds && 'repairable' in findingKinds[kind as FindingKind]
}

/** A finding for a person: how often it occurred, what it means, and the first places. */
export function findingLines(kind: FindingKind, { count, examples }: Finding, mark = ''): string[] {
  return [
    `  ${mark}${kind} × ${count.toLocaleString('en-US')} (${findingKinds[kind].means})`,
    ...examples.slice(0, 3).map(example => `        ${exampleText(example)}`),
  ]
}

function exampleText({ segment, offset, seq, detail }: FindingExample): string {
  const place = [segment, offset === undefined ? '' : `byte ${offset}`, seq === undefined ? '' : `seq ${seq}`]
  const where = place.filter(Boolean).join(', ')
  return where === '' ? detail : `${where}: ${detail}`
}

/** The exit code that findings amount to: the heaviest of them. */
export function exitOf(findings: Findings): FindingWeight {
  return Math.max(0, ...Object.values(findings).map(({ weight }) => weight)) as FindingWeight
}

/** What `verifyJournal` says of a journal directory. */
export interface JournalVerdict {
  /** 0 clean, 4 no journal there, 5 records are missing, 6 corrupt. */
  readonly exit: 0 | 4 | 5 | 6
  readonly findings: Findings
  /** The first seq that available history should hold: 1, or what stood before is not available. */
  readonly verified_from: number
  /** Valid records read. */
  readonly records: number
  /** Segments read. */
  readonly segments: number
  /** Bytes of segments read, unpacked. */
  readonly bytes: number
  /** The highest seq among valid records. */
  readonly head_seq: number
  readonly project_id: string | null
  /** Projection digest of the live state; absent where there is no journal. */
  readonly digest?: string
  /** Where no journal stands: what does, or what may have been meant. */
  readonly hint?: string
}

const nothingRead = { records: 0, segments: 0, bytes: 0, head_seq: 0, project_id: null }

/** The verdict on a directory that is not there. */
export const noJournal: JournalVerdict = { exit: 4, findings: {}, verified_from: 1, ...nothingRead }

const meaning = { 0: 'clean', 4: 'no journal there', 5: 'records are missing', 6: 'corrupt' } as const

const RESTORE_NEWEST =
  'next: if this is no copy, restore the newest segment before you start the producer; if you cannot, start it: it polls again what Kijito still shows'

const READ_ALLOWED =
  'next: run this as the user that owns the store, or correct the permissions, and repeat it; what could be read is not damaged'

/** Whether this user may not read something, and that is all: holes that begin with such a segment are none. */
function isDeniedRead({ seq_hole: hole, unreadable, ...rest }: Findings): boolean {
  const denied = unreadable?.examples.filter(({ detail }) => /\bE(ACCES|PERM)\b/.test(detail)) ?? []
  const numbers = denied.map(({ segment = '' }) => parseSegmentName(segment))
  const beginOf = (detail: string): number => Number(/^seq (\d+)/.exec(detail)?.[1])
  const holes = hole?.examples.filter(({ detail }) => numbers.includes(beginOf(detail)))
  const isHole = hole?.weight === 5 && holes?.length !== hole.count
  if (isHole || denied.length !== unreadable?.examples.length) return false
  return Object.values(rest).every(({ weight }) => weight === 0)
}

/** A verdict for a person: what it is, how much was read, and each finding with where it is. No text in it begins a line. */
export function verdictText(verdict: JournalVerdict, eventsDir: string): string {
  const { exit, findings, hint, verified_from, records, segments, bytes, head_seq } = verdict
  const isShort = exit === 0 && findings.meta_ahead !== undefined
  const found = Object.entries(findings) as [FindingKind, Finding][]
  const isDenied = exit === 6 && isDeniedRead(findings)
  const short = 'no damage in what is there, but the newest records are missing'
  const headline = isDenied ? 'cannot be read' : isShort ? short : meaning[exit]
  const lines = [`${headline}: ${eventsDir}`]
  if (hint !== undefined) lines.push(`  ${hint}`)
  if (exit !== 4)
    lines.push(
      `  ${formatCount(records, 'record')} in ${formatCount(segments, 'segment')} (${bytes.toLocaleString('en-US')} bytes), seq ${verified_from} to ${head_seq}`,
    )
  const marks = { 0: 'note  ', 5: 'HOLE  ', 6: 'ERROR ' } as const
  for (const [kind, finding] of found.sort(([, a], [, b]) => b.weight - a.weight))
    lines.push(...findingLines(kind, finding, marks[isDenied && kind === 'seq_hole' ? 0 : finding.weight]))
  if (isShort) lines.push(RESTORE_NEWEST)
  if (isDenied) lines.push(READ_ALLOWED)
  else if (exit === 5 || exit === 6) lines.push(nextStep(found, eventsDir))
  return lines.map(line => safeText(line)).join('\n')
}

function nextStep(found: readonly [FindingKind, Finding][], eventsDir: string): string {
  if (!found.some(([kind, { weight }]) => weight > 0 && isRepairable(kind)))
    return `next: stop the producer, restore the named files from a backup, and start it again; without a backup ${found.some(([kind]) => kind === 'seal_missing') ? 'the producer refuses this store if its newest segment has no seal; then start it on a new one: --store DIR' : 'it can continue, and verify keeps reporting this'}`
  const store = dirname(eventsDir)
  const isStore = storePaths(store).events === eventsDir
  return `next: kim-producer journal repair --dry-run --store ${isStore ? shellWord(store) : 'DIR'}`
}
