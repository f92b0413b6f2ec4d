import { safeJson, safeText } from '@kim/cli-kit'
import type { JsonValue } from '@kim/manifest'
import type { JournalFacts } from '../record-line.js'
import { valueAt } from './paths.js'
import type { Renderer } from './renderer.js'

/** Chosen values, separated by tabs; a tab inside a value is escaped, and what is absent is empty. */
export function createFields(paths: readonly string[], facts: JournalFacts): Renderer {
  return entry => paths.map(path => plain(valueAt(path, entry, facts))).join('\t')
}

/** Chosen values as one JSON object a line, named by their paths; what is absent is left out. */
export function createJsonFields(paths: readonly string[], facts: JournalFacts): Renderer {
  return entry =>
    safeJson(JSON.stringify(Object.fromEntries(paths.map(path => [path, valueAt(path, entry, facts)]))))
}

/** A value as a person would write it: strings bare, everything else as JSON, all of it escaped. */
export function plain(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return ''
  return safeText(typeof value === 'string' ? value : JSON.stringify(value))
}
