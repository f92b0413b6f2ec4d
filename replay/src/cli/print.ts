/** What several commands print: what an answer may lack, and records that are later than asked. */
import { type Io, safeText } from '@kim/cli-kit'
import { type Finding, type FindingKind, type Findings, findingLines } from '@kim/observer-sdk/verify'
import type { Point } from '../state-at.js'
import { laterThanAsked, type StateDocument } from '../state-document.js'

/** What an answer may lack, for a person; no lines if it lacks nothing. */
export function missingText(findings: Findings): string[] {
  const all = Object.entries(findings) as [FindingKind, Finding][]
  if (all.length === 0) return []
  return [
    'this answer may be incomplete:',
    ...all.flatMap(([kind, finding]) => findingLines(kind, finding)),
    'find the damage: kim-replay verify (with the same --events or --store)',
  ]
}

/** CL-69: reports a state that contains records that are later, by a clock that was set back, than the time asked for. */
export function warnAboutLaterRecords(io: Pick<Io, 'stderr'>, document: StateDocument, point: Point): void {
  const later = laterThanAsked(document, point)
  if (later === undefined || document.at === null || point.kind !== 'time') return
  io.stderr.write(
    `kim-replay: this state also includes later records, such as seq ${later.seq} of ${safeText(later.ts)}: the clock was set back before seq ${document.at.seq}, the last record up to ${safeText(point.text)}\n  to choose a point without a time: --seq N\n`,
  )
}
