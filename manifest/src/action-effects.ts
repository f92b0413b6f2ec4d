import type { Buffer } from 'node:buffer'
import type { Effect } from './classify.js'
import { effectOf } from './classify.js'
import type { LineFrame } from './line-frame.js'

/** What a verb does to an entity, with a payload and without one. */
interface VerbEffects {
  readonly name: string
  readonly withPayload: Effect
  readonly withoutPayload: Effect
}

interface Entry extends VerbEffects {
  readonly bytes: Uint8Array
}

/** A journal uses a handful of verbs; one that uses more pays for each line of the others. */
const KEPT_MAX = 64

/** The manifest's answer per verb, found by the verb's bytes. */
export class ActionEffects {
  readonly #entries: Entry[] = []
  #last: Entry | undefined

  /** What the record in a frame does. */
  of({ bytes, actionStart, actionEnd, hasPayload }: LineFrame): Effect {
    const effects = this.#effectsOf(bytes, actionStart, actionEnd)
    return hasPayload ? effects.withPayload : effects.withoutPayload
  }

  /** What the verb in `bytes[from, to)` does. */
  #effectsOf(bytes: Buffer, from: number, to: number): VerbEffects {
    const last = this.#last
    if (last !== undefined && isAt(last.bytes, bytes, from, to)) return last
    const known = this.#entries.find(entry => isAt(entry.bytes, bytes, from, to))
    if (known !== undefined) {
      this.#last = known
      return known
    }
    const entry = describe(bytes.toString('utf8', from, to), Uint8Array.from(bytes.subarray(from, to)))
    if (this.#entries.length < KEPT_MAX) this.#entries.push(entry)
    return entry
  }
}

function describe(name: string, bytes: Uint8Array): Entry {
  const record = { action: name, item_type: 'any', item_id: 'any' }
  return {
    bytes,
    name,
    withPayload: effectOf({ ...record, payload: {} }),
    withoutPayload: effectOf(record),
  }
}

function isAt(expected: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (expected.length !== to - from) return false
  for (let i = 0; i < expected.length; i++) if (bytes[from + i] !== expected[i]) return false
  return true
}
