import { safeText } from '@kim/cli-kit'
import { firstCodePoints } from '@kim/monitor'
import { bodyOf } from '../record-line.js'
import type { Look, Renderer } from './renderer.js'

/** The text alone, one line a record. */
export function createCat(look: Look): Renderer {
  return ({ record }) => {
    const body = bodyOf(record, look.facts.payloadOf(record))
    const cut = look.bodyChars === undefined ? body : firstCodePoints(body, look.bodyChars)
    return look.prefix ? `${safeText(record.agent ?? '_')}: ${safeText(cut)}` : safeText(cut)
  }
}
