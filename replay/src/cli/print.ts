/** What several commands print: what an answer may lack, and records that are later than asked. */
import { type Io, safeText } from '@kim/cli-kit'
import type { Finding, FindingKind, Findings } from '@kim/observer-sdk/verify'
import type { Point } from '../state-at.js'
import { laterThanAsked, type StateDocument } from '../state-document.js'

/** What an answer may lack, for a person; no lines if it lacks nothing. */
export function missingText(findings: Findings): string[] {
  const all = Object.entries(findings) as [FindingKind, Finding][]
  if (all.length === 0) return []
  return [
    'this answer may be incomplete:',
    ...all.flatMap(([kind, { count, examples }]) => [
      `  ${kind} × ${count.toLocaleString('en-US')}`,
      ...examples.slice(0, 3).map(({ segment, offset, seq, detail }) => {
        const place = [
          segment,
          offset === undefined ? undefined : `byte ${offset}`,
          seq === undefined ? undefined : `seq ${seq}`,
        ]
        const where = place.filter(part => part !== undefined).join(', ')
        return `      ${where === '' ? '' : `${where}: `}${detail}`
      }),
    ]),
    'find the damage: kim-replay verify',
  ]
}

/** CL-69: reports a state that contains records that are later, by a clock that was set back, than the time asked for. */
export function warnAboutLaterRecords(io: Pick<Io, 'stderr'>, document: StateDocument, point: Point): void {
  const later = laterThanAsked(document, point)
  if (later === undefined || document.at === null || point.kind !== 'time') return
  io.stderr.write(
    `kim-replay: the clock was set back: the state includes seq ${later.seq} of ${safeText(later.ts)}, because it comes before seq ${document.at.seq}, the last record that is not later than ${safeText(point.text)}\n  to choose another point, name it by its seq: --seq N\n`,
  )
}
