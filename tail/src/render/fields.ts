/** Chosen values of a record: `--fields` and `--template`. */
import { safeJson, safeText, usageError } from '@kim/cli-kit'
import { type JsonValue, nonceOf, type ReadRecord } from '@kim/manifest'
import { idOf, type JournalFacts } from '@kim/monitor'
import type { JournalLine } from '@kim/observer-sdk'
import { bodyOf, senderOf, typeOf, wakeOf } from '../selection.js'
import type { Renderer } from './short.js'

/** Chosen values, separated by tabs; a tab inside a value is escaped, and what is absent is empty. */
export function createFields(paths: readonly string[], facts: JournalFacts): Renderer {
  return entry => paths.map(path => plain(valueAt(path, entry, facts))).join('\t')
}

/** Chosen values as one JSON object a line, named by their paths; what is absent is left out. */
export function createJsonFields(paths: readonly string[], facts: JournalFacts): Renderer {
  return entry =>
    safeJson(JSON.stringify(Object.fromEntries(paths.map(path => [path, valueAt(path, entry, facts)]))))
}

/** A value for a person: a string without quotes, anything else as JSON, all of it escaped. */
export function plain(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return ''
  return safeText(typeof value === 'string' ? value : JSON.stringify(value))
}

/**
 * A line by a pattern such as `{seq} {payload.from}: {text}`. `{{` and `}}` are braces, `\t` and `\n` a tab and a line
 * end. Values are escaped, so only the pattern itself can end a line.
 */
export function createTemplate(pattern: string, facts: JournalFacts): Renderer {
  const found = pattern.matchAll(/\{\{|\}\}|\{[^{}]*\}|\\[tn\\]|[^{}\\]+|[\s\S]/g)
  const parts = [...found].map(([part]) => partOf(part, facts))
  return entry => parts.map(text => text(entry)).join('')
}

function partOf(part: string, facts: JournalFacts): (entry: JournalLine) => string {
  if (part.length > 2 && part.startsWith('{')) return entry => plain(valueAt(part.slice(1, -1), entry, facts))
  if (part === '{}' || part === '{' || part === '}')
    throw usageError(
      `--template: "${part}" is not a field`,
      'use fields such as {seq}; write {{ and }} for literal braces',
    )
  return () => LITERALS[part] ?? part
}

const LITERALS: Readonly<Record<string, string>> = {
  '{{': '{',
  '}}': '}',
  '\\t': '\t',
  '\\n': '\n',
  '\\\\': '\\',
}

/** Values that are made from a record. */
const DERIVED: Readonly<Record<string, (record: ReadRecord, facts: JournalFacts) => string | undefined>> = {
  id: idOf,
  nonce: (record, facts) => nonceOf(idOf(record, facts)),
  type: typeOf,
  persona: record => record.agent,
  from: (record, facts) => senderOf(facts.payloadOf(record)),
  text: (record, facts) => bodyOf(record, facts.payloadOf(record)),
  wake: wakeOf,
}

/** The value of a path such as `payload.from`, or of a derived name such as `text`; undefined if there is none. */
function valueAt(path: string, { record }: JournalLine, facts: JournalFacts): JsonValue | undefined {
  if (Object.hasOwn(DERIVED, path)) return DERIVED[path]?.(record, facts)
  const [first = '', ...rest] = path.split('.')
  let value: unknown = first === 'payload' ? facts.payloadOf(record) : own(record.raw, first)
  for (const name of rest) value = own(value, name)
  return value as JsonValue | undefined
}

/** A member of the object itself: `__proto__` is a name like any other. */
function own(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}
