import type { JsonValue } from '@kim/manifest'
import { cursorIn } from '@kim/monitor'
import type { Observer } from '@kim/observer-sdk'

/**
 * How far an inbox has come: the larger of a seed and the watermark (KS-28, KS-35). The persona's record alone does not
 * tell it, as a message that comes in leaves that record as it is.
 */
export function cursorOf(observer: Pick<Observer, 'persona' | 'state'>, persona: string): number | undefined {
  const payload = observer.state.get('persona', persona)?.payload
  if (payload === undefined || payload === null) return undefined
  const { alerts, newest } = observer.persona(persona)
  const pin = alerts.find(({ itemId }) => itemId === `${persona}/bounded-window`)?.payload?.['cursor_at']
  if (typeof pin === 'number') return cursorIn({ ...payload, cursor: pin })
  const highest = Number(newest[0]?.itemId.slice(persona.length + 1))
  return cursorIn({ ...payload, cursor: larger(payload['cursor'], highest) })
}

/** Whatever of the two is a number; null if none is. */
function larger(recorded: JsonValue | undefined, highest: number): number | null {
  const known = [recorded, highest].filter(value => typeof value === 'number' && Number.isFinite(value))
  return known.length === 0 ? null : Math.max(...(known as number[]))
}
