/** Heartbeats in the line format of the older monitor: one for each persona. */
import { randomBytes } from 'node:crypto'
import type { JsonValue } from '@kim/manifest'
import { cursorIn, heartbeatEvent, monitorLine, readHostClocks } from '@kim/monitor'
import { memoryCursors, type Observer, openObserver } from '@kim/observer-sdk'

/** How far an inbox has come. Only a state knows that, so an observer derives one beside what is printed. */
export class MonitorHeartbeat {
  readonly #observer: Observer
  readonly #run = randomBytes(8).toString('hex')
  #count = 0

  private constructor(observer: Observer) {
    this.#observer = observer
  }

  /** Derives the state of a journal, which need not exist yet. */
  static async open(eventsDir: string): Promise<MonitorHeartbeat> {
    return new MonitorHeartbeat(await openObserver({ eventsDir, cursors: memoryCursors() }))
  }

  /** The lines of one beat: for these personas, or for all that the journal has. */
  lines(personas: readonly string[]): string[] {
    return (personas.length > 0 ? personas : this.#observer.personas()).flatMap(persona => {
      this.#count += 1
      const id = `${persona}:heartbeat:${this.#run}-${this.#count}`
      const clocks = readHostClocks(this.#count)
      const cursor = inboxCursor(this.#observer, persona)
      return monitorLine(heartbeatEvent(persona, cursor, id, clocks, process.platform)) ?? []
    })
  }

  close(): Promise<void> {
    return this.#observer.close()
  }
}

/**
 * How far an inbox has come: the larger of a seed and the watermark (KS-28, KS-35). The persona's record alone does not
 * say, because a message that comes in does not change that record.
 */
export function inboxCursor(
  observer: Pick<Observer, 'persona' | 'state'>,
  persona: string,
): number | undefined {
  const payload = observer.state.get('persona', persona)?.payload
  if (payload === undefined || payload === null) return undefined
  const { alerts, newest } = observer.persona(persona)
  const pin = alerts.find(({ itemId }) => itemId === `${persona}/bounded-window`)?.payload?.['cursor_at']
  if (typeof pin === 'number') return cursorIn({ ...payload, cursor: pin })
  const highest = Number(newest[0]?.itemId.slice(persona.length + 1))
  return cursorIn({ ...payload, cursor: larger(payload['cursor'], highest) })
}

/** The larger of the two that are numbers; null if neither is. */
function larger(recorded: JsonValue | undefined, highest: number): number | null {
  const known = [recorded, highest].filter(value => typeof value === 'number' && Number.isFinite(value))
  return known.length === 0 ? null : Math.max(...(known as number[]))
}
