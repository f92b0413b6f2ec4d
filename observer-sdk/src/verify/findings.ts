/** 0 explained or harmless, 5 a hole, 6 corruption. */
export type FindingWeight = 0 | 5 | 6

/** What a finding is about. */
export type FindingKind =
  | 'unterminated_tail'
  | 'adjudicated'
  | 'tx_abandoned'
  | 'tx_open_tail'
  | 'hole_repaired'
  | 'redacted'
  | 'redaction_pending'
  | 'history_starts_at'
  | 'segment_misnamed'
  | 'checkpoint_orphan'
  | 'checkpoint_absent'
  | 'meta_ahead'
  | 'future'
  | 'foreign'
  | 'seq_hole'
  | 'malformed_line'
  | 'duplicate_seq'
  | 'seq_regressed'
  | 'revision'
  | 'schema'
  | 'tx_incomplete'
  | 'chain_broken'
  | 'seal_missing'
  | 'checkpoint_corrupt'
  | 'checkpoint_mismatch'
  | 'blob_missing'
  | 'blob_mismatch'
  | 'unreadable'

/** Exit weight of each kind of finding. */
export const findingWeights: Readonly<Record<FindingKind, FindingWeight>> = {
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
}

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
    const example: { -readonly [K in keyof FindingExample]: FindingExample[K] } = { detail: clip(detail) }
    if (place.segment !== undefined) example.segment = place.segment
    if (place.offset !== undefined) example.offset = place.offset
    if (place.seq !== undefined) example.seq = place.seq
    entry.examples.push(example)
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

/** The exit code that findings amount to: the heaviest of them. */
export function exitOf(findings: Findings): FindingWeight {
  let exit: FindingWeight = 0
  for (const finding of Object.values(findings)) if (finding.weight > exit) exit = finding.weight
  return exit
}

function clip(detail: string): string {
  return detail.length <= detailCharsMax ? detail : `${detail.slice(0, detailCharsMax)}…`
}
