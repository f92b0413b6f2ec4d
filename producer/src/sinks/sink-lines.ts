import type { SinkEntry } from './log.js'

/** Which lane of which sink a line is about; `lane` is '' for a sink with a single place. */
interface About {
  readonly sink: string
  readonly lane: string
}

const personaOf = (lane: string): { readonly persona?: string } => (lane === '' ? {} : { persona: lane })

/** A new sink begins, and passes over what the journal holds already. */
export function startedLine(sink: string, passedOver: number): SinkEntry {
  return {
    level: 'info',
    code: 'sink_started',
    message: `${sink}: begins at the head; skipped ${passedOver} existing events`,
    fields: { sink, passed_over: passedOver },
  }
}

/** An event was refused; `triesMax` is how often it is tried before it is skipped. */
export function failingLine(
  { sink, lane }: About,
  eventId: string,
  why: string,
  triesMax: number,
): SinkEntry {
  const kept =
    'the journal is not affected; the sink retries this event with back-off, then delivers the later ones in order'
  return {
    level: 'warn',
    code: 'sink_failing',
    message: `${sink}: ${why}`,
    hint: Number.isFinite(triesMax) ? `${kept}; it skips the event after ${triesMax} tries` : kept,
    ...personaOf(lane),
    fields: { sink, event_id: eventId },
  }
}

/** The event that was refused is taken. */
export function workingLine({ sink, lane }: About, seconds: number, tries: number): SinkEntry {
  return {
    level: 'info',
    code: 'sink_working',
    message: `${sink}: delivers events again after ${seconds} s`,
    ...personaOf(lane),
    fields: { sink, seconds, tries },
  }
}
