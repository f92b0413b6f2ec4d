import { formatCount, safeText } from '@kim/manifest'

/** 0 explained or harmless, 5 a hole, 6 corruption. */
export type FindingWeight = 0 | 5 | 6

/** Exit weight of each kind of finding. */
export const findingWeights = {
  unterminated_tail: 0,
  adjudicated: 0,
  tx_abandoned: 0,
  tx_open_tail: 0,
  hole_repaired: 0,
  redacted: 0,
  redaction_pending: 0,
  history_starts_at: 0,
  segment_misnamed: 0,
  checkpoint_orphan: 0,
  checkpoint_absent: 0,
  meta_ahead: 0,
  future: 0,
  foreign: 0,
  seq_hole: 5,
  malformed_line: 6,
  duplicate_seq: 6,
  seq_regressed: 6,
  revision: 6,
  schema: 6,
  tx_incomplete: 6,
  chain_broken: 6,
  seal_missing: 6,
  checkpoint_corrupt: 6,
  checkpoint_mismatch: 6,
  blob_missing: 6,
  blob_mismatch: 6,
  unreadable: 6,
} as const

/** What a finding is about. */
export type FindingKind = keyof typeof findingWeights

/** Where a finding stands, as exactly as its check knows. */
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
    for (const [kind, weight] of Object.entries(findingWeights) as [FindingKind, FindingWeight][]) {
      const entry = this.#kinds.get(kind)
      if (entry === undefined) continue
      const applies = !foreign || kind === 'unreadable'
      findings[kind] = { count: entry.count, weight: applies ? weight : 0, examples: entry.examples }
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

/** The exit code that findings amount to: the heaviest of them. */
export function exitOf(findings: Findings): FindingWeight {
  let exit: FindingWeight = 0
  for (const finding of Object.values(findings)) if (finding.weight > exit) exit = finding.weight
  return exit
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

/** The verdict on a directory that is not there. */
export const noJournal: JournalVerdict = {
  exit: 4,
  findings: {},
  verified_from: 1,
  records: 0,
  segments: 0,
  bytes: 0,
  head_seq: 0,
  project_id: null,
}

const meaning: Readonly<Record<JournalVerdict['exit'], string>> = {
  0: 'clean',
  4: 'no journal there',
  5: 'records are missing',
  6: 'corrupt',
}

/** A verdict for a person: what it is, how much was read, and each finding with where it stands. No text in it begins a line. */
export function verdictText(verdict: JournalVerdict, eventsDir: string): string {
  const { exit, findings, hint, verified_from, records, segments, bytes, head_seq } = verdict
  const lines = [`${meaning[exit]}: ${eventsDir}`]
  if (hint !== undefined) lines.push(`  ${hint}`)
  if (exit !== 4) {
    const size = bytes.toLocaleString('en-US')
    lines.push(
      `  ${formatCount(records, 'record')} in ${formatCount(segments, 'segment')} (${size} bytes), seq ${verified_from} to ${head_seq}`,
    )
  }
  const found = Object.entries(findings) as [FindingKind, Finding][]
  for (const [kind, { count, weight, examples }] of found.sort(([, a], [, b]) => b.weight - a.weight)) {
    lines.push(
      `  ${weight === 0 ? 'note ' : weight === 5 ? 'HOLE ' : 'ERROR'} ${kind} × ${count.toLocaleString('en-US')}`,
    )
    for (const { segment, offset, seq, detail } of examples.slice(0, 3)) {
      const place = [
        segment,
        offset === undefined ? '' : `byte ${offset}`,
        seq === undefined ? '' : `seq ${seq}`,
      ]
      const where = place.filter(part => part !== undefined && part !== '').join(', ')
      lines.push(`        ${where === '' ? '' : `${where}: `}${detail}`)
    }
  }
  return lines.map(line => safeText(line)).join('\n')
}
