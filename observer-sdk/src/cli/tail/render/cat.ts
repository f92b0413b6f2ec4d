import { safeText } from '@kim/cli-kit'
import { bodyOf } from '../entry.js'
import type { Look, Renderer } from './renderer.js'
import { firstCodePoints } from './words.js'

/** The text alone, one line a record. */
export function createCat(look: Look): Renderer {
  return ({ record }) => {
    const body = bodyOf(record, look.facts.payloadOf(record))
    const cut = look.bodyChars === undefined ? body : firstCodePoints(body, look.bodyChars)
    return look.prefix ? `${safeText(record.agent ?? '_')}: ${safeText(cut)}` : safeText(cut)
  }
}
