import { isUtf8 } from 'node:buffer'
import { exceedsNesting, limits } from '@kim/manifest'
import { type BodyResult, parseFail } from './failures.js'

const BYTE_ORDER_MARK = 0xfeff

/** The JSON value of a body: UTF-8, one leading U+FEFF skipped, nested no deeper than any reader bears (KS-9, KS-16). */
export function parseBody(body: Buffer): BodyResult<unknown> {
  if (!isUtf8(body)) return { ok: false, failure: parseFail('not valid UTF-8') }
  const text = body.toString('utf8')
  const json = text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text
  if (json === '') return { ok: false, failure: parseFail('an empty body') }
  // Before parsing: the parser would hold a frame for every level.
  if (exceedsNesting(json)) {
    return { ok: false, failure: parseFail(`nested deeper than ${limits.nestingLevelsMax}`) }
  }
  try {
    return { ok: true, value: JSON.parse(json) }
  } catch {
    // The parser's own words quote the body.
    return { ok: false, failure: parseFail('not JSON') }
  }
}
