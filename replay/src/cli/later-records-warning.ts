import { type Io, safeText } from '@kim/cli-kit'
import { laterThanAsked } from '../later-than-asked.js'
import type { Point } from '../point.js'
import type { StateDocument } from '../state-document.js'

/** CL-69: says on stderr that a state holds what is later, by a clock that was set back, than the time that was asked for. */
export function warnAboutLaterRecords(io: Pick<Io, 'stderr'>, document: StateDocument, point: Point): void {
  const later = laterThanAsked(document, point)
  if (later === undefined || document.at === null || point.kind !== 'time') return
  io.stderr.write(
    `kim-replay: the clock was set back: the state includes seq ${later.seq} of ${safeText(later.ts)}, because it comes before seq ${document.at.seq}, the last record that is not later than ${safeText(point.text)}\n  to choose another point, name it by its seq: --seq N\n`,
  )
}
