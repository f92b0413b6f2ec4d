import { monitorLine } from '../../../announce/event-line.js'
import { type MonitorLook, monitorEvent } from '../../../announce/monitor-event.js'
import type { Renderer } from './renderer.js'

/** The older monitor's event lines, from records alone. Records that announce nothing are not shown. */
export function createMonitor(look: MonitorLook): Renderer {
  return ({ record }) => {
    const event = monitorEvent(record, look)
    return event === undefined ? undefined : monitorLine(event)
  }
}
