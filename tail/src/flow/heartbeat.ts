import { randomBytes } from 'node:crypto'
import { heartbeatEvent, monitorLine, readHostClocks } from '@kim/monitor'
import type { Plan } from '../plan.js'
import type { Feed } from './feed.js'
import type { Printer } from './printer.js'
import type { ReadCursor } from './read-cursor.js'

/** Signs of life of this process, in the manner of each mode. */
export class Heartbeat {
  readonly #run = randomBytes(8).toString('hex')
  #count = 0

  /** One beat: in `monitor` an event for each persona, elsewhere one line. */
  beat(plan: Plan, feed: Feed, printer: Printer, progress: ReadCursor): void {
    if (plan.mode !== 'monitor') {
      printer.report.heartbeat(progress.seq)
      return
    }
    const personas = plan.selection.personas.length > 0 ? plan.selection.personas : feed.personas()
    for (const persona of personas) {
      this.#count += 1
      const id = `${persona}:heartbeat:${this.#run}-${this.#count}`
      const event = heartbeatEvent(
        persona,
        feed.cursorOf(persona),
        id,
        readHostClocks(this.#count),
        process.platform,
      )
      const line = monitorLine(event)
      if (line !== undefined) printer.out.line(line)
    }
  }
}
