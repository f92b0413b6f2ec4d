import { limits } from '@kim/manifest'
import { type BodyResult, shapeInvalid } from './failures.js'

/** An object as JSON has it, its members not yet judged. */
export type Members = Readonly<Record<string, unknown>>

/** True for a JSON object: neither `null` nor an array. */
export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What all three endpoints answer: an object whose `result` is an array. */
export function resultOf(
  value: unknown,
): BodyResult<{ readonly body: Members; readonly result: readonly unknown[] }> {
  if (!isMembers(value)) return { ok: false, failure: shapeInvalid('body is not an object') }
  const result = value['result']
  if (!Array.isArray(result)) return { ok: false, failure: shapeInvalid('result is not an array') }
  if (result.length > limits.responseRowsMax) {
    return { ok: false, failure: shapeInvalid(`more than ${limits.responseRowsMax} rows`) }
  }
  return { ok: true, value: { body: value, result } }
}
