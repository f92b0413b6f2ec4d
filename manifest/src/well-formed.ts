/// <reference lib="es2024.string" />
import type { JsonValue } from './envelope.js'

/** The same value with every lone surrogate, in strings and in keys, replaced by U+FFFD. */
export function toWellFormed<T>(value: T): T
export function toWellFormed(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => toWellFormed(item))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), toWellFormed(item)]),
  )
}
