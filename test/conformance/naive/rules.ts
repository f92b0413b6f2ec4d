import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What `action-classes.json` says to a reader; the members a reader has no use for are left out. */
export interface ActionClasses {
  segment_pad: number
  classes: Record<string, { with_payload: string; without_payload: string }>
  verbs: Record<string, string>
  wildcards: { prefix: string; class: string }[]
  unknown_verb: { with_payload: string; without_payload: string }
  activity_section: string
  item_types: Record<string, { sections: string[] }>
  item_type_aliases: Record<string, string>
  attention: {
    rules: { item_type: string; when: Condition[]; unless?: Condition[][] }[]
    sums: { item_type: string; field: string }[]
  }
  registry: { genesis_note: string }
  wake_classes: Record<string, string>
  unclassified_wake: string
  never_news: string[]
}

/** A test of one field of a payload. */
export interface Condition {
  field: string
  one_of?: unknown[]
  is_string?: boolean
  begins?: string
}

/** What `limits.json` says to a reader. */
export interface Limits {
  line_read_bytes_max: { value: number }
  nesting_levels_max: { value: number }
  tx_records_max: { value: number }
  activity_records_max: { value: number }
}

export interface Rules {
  classes: ActionClasses
  limits: Limits
}

/** Reads the rules as data, from the folder that holds `action-classes.json` and `limits.json`. */
export function loadRules(folder: string): Rules {
  const json = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'))
  return { classes: json('action-classes.json') as ActionClasses, limits: json('limits.json') as Limits }
}
