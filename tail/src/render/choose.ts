import type { MonitorLook } from '@kim/monitor'
import type { Look, Renderer } from './renderer.js'

/** How records are printed. */
export type Mode =
  | 'short'
  | 'short-iso'
  | 'json'
  | 'json-pretty'
  | 'cat'
  | 'agent'
  | 'monitor'
  | 'cloudevents'

/** What the chosen mode is told. */
export interface Choice {
  readonly mode: Mode
  readonly fields: readonly string[]
  readonly template: string | undefined
  readonly look: Look
  readonly monitor: MonitorLook
  readonly maxLine: number
}

/** The renderer that a command line asked for. Only its own code is loaded: start-up is paid on every call. */
export async function chooseRenderer(choice: Choice): Promise<Renderer> {
  const { mode, fields, template, look, maxLine } = choice
  if (template !== undefined) return (await import('./template.js')).createTemplate(template, look.facts)
  if (fields.length > 0) {
    const { createFields, createJsonFields } = await import('./fields.js')
    return mode === 'json' ? createJsonFields(fields, look.facts) : createFields(fields, look.facts)
  }
  switch (mode) {
    case 'short':
      return (await import('./short.js')).createShort(look)
    case 'short-iso':
      return (await import('./short.js')).createShortIso(look)
    case 'json':
      return (await import('./json.js')).renderJson
    case 'json-pretty':
      return (await import('./json.js')).renderJsonPretty
    case 'cat':
      return (await import('./cat.js')).createCat(look)
    case 'agent':
      return (await import('./agent.js')).createAgent({ ...look, maxLine })
    case 'monitor':
      return (await import('./monitor.js')).createMonitor(choice.monitor)
    case 'cloudevents':
      return (await import('./cloudevents.js')).createCloudEvents(look.facts)
    default:
      return mode satisfies never
  }
}
