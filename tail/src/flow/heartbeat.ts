/** Heartbeats in the line format of the older monitor: one for each persona. */
import { randomBytes } from 'node:crypto'
import type { JsonValue } from '@kim/manifest'
import { cursorIn, heartbeatEvent, monitorLine, readHostClocks } from '@kim/monitor'
import { memoryCursors, type Observer, openObserver } from '@kim/observer-sdk'

/** Makes the lines of each beat. */
export interface MonitorHeartbeat {
  /** For these personas, or for all that the journal has. */
  lines(personas: readonly string[]): string[]
  close(): Promise<void>
}

/** Only a state knows how far an inbox has come, so an observer derives one. The journal need not exist yet. */
export async function openHeartbeat(eventsDir: string): Promise<MonitorHeartbeat> {
  const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
  const run = randomBytes(8).toString('hex')
  let count = 0
  return {
    lines: personas =>
      (personas.length > 0 ? personas : observer.personas()).flatMap(persona => {
        count += 1
        const id = `${persona}:heartbeat:${run}-${count}`
        const cursor = inboxCursor(observer, persona)
        return monitorLine(heartbeatEvent(persona, cursor, id, readHostClocks(count), process.platform)) ?? []
      }),
    close: () => observer.close(),
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
