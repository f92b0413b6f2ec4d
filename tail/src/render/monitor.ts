import { type MonitorLook, monitorEvent, monitorLine } from '@kim/monitor'
import type { Renderer } from './renderer.js'

/** The older monitor's event lines, from records alone. Records that announce nothing are not shown. */
export function createMonitor(look: MonitorLook): Renderer {
  return ({ record }) => {
    const event = monitorEvent(record, look)
    return event === undefined ? undefined : monitorLine(event)
  }
}
