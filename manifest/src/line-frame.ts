/**
 * Recognises a line in one of two exact frames without parsing it: our writer's, and a foreign writer's (OB-11).
 *
 * A frame is matched from its first byte to its last: keys in their order, strings without escapes, plain numbers, the
 * payload a single object. So if the line is JSON at all, its members are exactly what the match says; only the inside
 * of the payload is not looked at until it is asked for. Every other line is no match, and is parsed.
 */
import { Buffer } from 'node:buffer'
import { type Effect, effectOf } from './classify.js'
import { isSame, type KeyBytes } from './entity-table.js'
import {
  BACKSLASH,
  CLOSE,
  COMMA,
  escapedEnd,
  extendHash,
  finishHash,
  HASH_SEED,
  integerEnd,
  JsonBytes,
  keyEnd,
  type Literal,
  literal,
  namedMember,
  OPEN,
  plainEnd,
  plainMember,
  QUOTE,
  readingEnd,
  skip,
} from './json.js'
import { limits } from './limits.js'

const ACTION = literal('{"action":"')
const ACTOR = literal(',"actor":{"kind":"')
const ACTOR_NAME = literal('","name":"')
const AGENT = literal(',"agent":"')
const CLOCK = literal(',"clock":{')
const REVISION = literal(',"entity_rev":')
const EVENT = literal(',"event":"')
const ITEM_ID = literal(',"item_id":"')
const ITEM_TYPE = literal(',"item_type":"')
const KEY = literal(',"key":"')
const PAYLOAD = literal(',"payload":{')
const SEQ = literal(',"seq":')
const SUMMARY = literal(',"summary":"')
const TS = literal(',"ts":"')
const WRITER = literal(',"v":2,"writer":"')
const FOREIGN_SEQ = literal('{"v":2,"seq":')
const FOREIGN_WRITER = literal(',"writer":"')
const FOREIGN_ACTION = literal(',"action":"')
const FOREIGN_OPTIONAL = [',"agent_id":"', ',"session_id":"', ',"user":"'].map(literal)
const NO_BYTES = Buffer.alloc(0)
const CLOCK_MEMBERS = ['"boot_ms":', '"mono_ms":', '"wait_ms":'].map(literal)

/** One matcher, reused for every line: its fields describe the last line that matched. */
export class LineFrame implements KeyBytes {
  actionStart = 0
  actionEnd = 0
  /** The entity's id and type, without their quotes. */
  idStart = 0
  idEnd = 0
  typeStart = 0
  typeEnd = 0
  /** Hash of the bytes of both. */
  hash = 0
  /** The `entity_rev`; negative if there is none. */
  revision = 0
  seq = 0
  hasEvent = false
  hasPayload = false
  /** The payload, its braces included. */
  payloadStart = 0
  payloadEnd = 0
  writerStart = 0
  writerEnd = 0
  /** The memory that the line is in: `bytes[from, to)`, valid until it is read into again. */
  bytes: Buffer = NO_BYTES
  from = 0
  to = 0
  readonly #json = new JsonBytes()

  /** The line without its `\n`. */
  get line(): Buffer {
    return this.bytes.subarray(this.from, this.to)
  }

  /** A stretch of the line as text: one of the pairs of places above. */
  text(from: number, to: number): string {
    return this.bytes.toString('utf8', from, to)
  }

  /** Whether `bytes[from, to)`, which ends before a line feed, is a line in the exact frame. */
  match(bytes: Buffer, from: number, to: number): boolean {
    if (to - from > limits.lineReadBytesMax) return false
    this.bytes = bytes
    this.from = from
    this.to = to
    const json = this.#json
    json.use(bytes)
    if (bytes[from + 2] === 0x76 /* v */) return this.#matchForeign(bytes, from, to)
    let at = skip(json, from, ACTION)
    if (at < 0) return false
    this.actionStart = at
    at = plainEnd(bytes, at)
    if (at <= this.actionStart) return false
    this.actionEnd = at
    at = this.#matchHead(bytes, at + 1)
    if (at < 0) return false
    at = this.#matchEntity(at)
    if (at < 0) return false
    if (bytes[at + 2] === 0x6b /* k */) {
      at = plainMember(json, at, KEY)
      if (at < 0) return false
    }
    this.hasPayload = bytes[at + 2] === 0x70 /* p */
    if (!this.hasPayload) return this.#matchTail(bytes, at, to)
    const payload = skip(json, at, PAYLOAD)
    return payload > 0 && this.#matchFromPayload(bytes, payload, to)
  }

  /** The frame of a foreign writer: `v`, `seq`, `ts`, `writer`, `agent` … `payload`. */
  #matchForeign(bytes: Buffer, from: number, to: number): boolean {
    const json = this.#json
    let at = skip(json, from, FOREIGN_SEQ)
    if (at < 0) return false
    at = integerEnd(json, at)
    if (at < 0 || json.integer === 0) return false
    this.seq = json.integer
    at = plainMember(json, at, TS)
    if (at < 0) return false
    this.writerStart = at + FOREIGN_WRITER.length
    at = plainMember(json, at, FOREIGN_WRITER)
    if (at < 0) return false
    this.writerEnd = at - 1
    at = plainMember(json, at, AGENT)
    for (const name of FOREIGN_OPTIONAL) if (at > 0) at = optionalMember(json, at, name)
    if (at < 0) return false
    this.actionStart = at + FOREIGN_ACTION.length
    at = namedMember(json, at, FOREIGN_ACTION)
    if (at < 0) return false
    this.actionEnd = at - 1
    return this.#matchForeignEntity(bytes, at, to)
  }

  #matchForeignEntity(bytes: Buffer, from: number, to: number): boolean {
    const json = this.#json
    this.typeStart = from + ITEM_TYPE.length
    let at = namedMember(json, from, ITEM_TYPE)
    if (at < 0) return false
    this.typeEnd = at - 1
    json.hash = HASH_SEED
    this.idStart = skip(json, at, ITEM_ID)
    this.idEnd = this.idStart < 0 ? -1 : keyEnd(json, this.idStart)
    if (this.idEnd < 0) return false
    for (let i = this.typeStart; i < this.typeEnd; i++) json.hash = extendHash(json.hash, bytes[i] as number)
    this.hash = finishHash(json.hash)
    at = this.idEnd + 1
    this.hasEvent = false
    this.revision = -1
    const digits = skip(json, at, REVISION)
    if (digits > 0) {
      at = integerEnd(json, digits)
      if (at < 0) return false
      this.revision = json.integer
    }
    const summary = skip(json, at, SUMMARY)
    if (summary > 0) {
      const end = escapedEnd(bytes, summary)
      if (end < 0) return false
      at = end + 1
    }
    const payload = skip(json, at, PAYLOAD)
    this.hasPayload = payload > 0
    return this.hasPayload ? this.#matchLastPayload(bytes, payload, to) : at + 1 === to && bytes[at] === CLOSE
  }

  /** The payload is the last member. Where one of its braces could end it early, its nesting is followed. */
  #matchLastPayload(bytes: Buffer, payload: number, to: number): boolean {
    const end = to - 2
    if (bytes[end] !== CLOSE || bytes[end + 1] !== CLOSE) return false
    this.payloadStart = payload - 1
    this.payloadEnd = end + 1
    return bytes.indexOf(CLOSE, payload) === end || staysInside(bytes, payload, end)
  }

  /** Actor, agent, clock, revision and event. */
  #matchHead(bytes: Buffer, from: number): number {
    const json = this.#json
    let at = from
    if (bytes[at + 3] === 0x63 /* the c of actor */) {
      at = plainMember(json, at, ACTOR)
      if (at < 0) return -1
      at = plainMember(json, at - 1, ACTOR_NAME)
      if (at < 0 || bytes[at] !== CLOSE) return -1
      at += 1
    }
    at = plainMember(json, at, AGENT)
    if (at < 0) return -1
    if (bytes[at + 2] === 0x63 /* c */) {
      at = matchClock(json, at)
      if (at < 0) return -1
    }
    at = skip(json, at, REVISION)
    if (at < 0) return -1
    at = integerEnd(json, at)
    if (at < 0) return -1
    this.revision = json.integer
    this.hasEvent = bytes[at + 3] === 0x76 /* the v of event */
    return this.hasEvent ? namedMember(json, at, EVENT) : at
  }

  #matchEntity(from: number): number {
    const json = this.#json
    json.hash = HASH_SEED
    this.idStart = skip(json, from, ITEM_ID)
    if (this.idStart < 0) return -1
    this.idEnd = keyEnd(json, this.idStart)
    if (this.idEnd < 0) return -1
    this.typeStart = skip(json, this.idEnd + 1, ITEM_TYPE)
    if (this.typeStart < 0) return -1
    this.typeEnd = keyEnd(json, this.typeStart)
    this.hash = finishHash(json.hash)
    return this.typeEnd < 0 ? -1 : this.typeEnd + 1
  }

  /**
   * The payload's end is the brace that the rest of the frame follows. With one closing brace there is no
   * doubt; with more, a member of the line hidden behind an early end of the payload is looked for.
   */
  #matchFromPayload(bytes: Buffer, payload: number, to: number): boolean {
    let doubtful = false
    for (let at = bytes.indexOf(CLOSE, payload); at >= 0 && at < to; at = bytes.indexOf(CLOSE, at + 1)) {
      if (this.#matchTail(bytes, at + 1, to)) {
        this.payloadStart = payload - 1
        this.payloadEnd = at + 1
        return !doubtful || staysInside(bytes, payload, at)
      }
      const next = bytes[at + 1]
      doubtful ||= next === COMMA || next === 0x20 || next === 0x09 || next === 0x0d
    }
    return false
  }

  /** Seq, summary, ts, version, writer and the end. */
  #matchTail(bytes: Buffer, from: number, to: number): boolean {
    const json = this.#json
    let at = skip(json, from, SEQ)
    if (at < 0) return false
    at = integerEnd(json, at)
    const seq = json.integer
    if (at < 0 || seq === 0) return false
    at = skip(json, at, SUMMARY)
    if (at < 0) return false
    at = escapedEnd(bytes, at)
    if (at < 0) return false
    at = plainMember(json, at + 1, TS)
    if (at < 0) return false
    at = skip(json, at, WRITER)
    if (at < 0) return false
    const writerEnd = plainEnd(bytes, at)
    if (writerEnd < 0 || writerEnd + 2 !== to || bytes[writerEnd + 1] !== CLOSE) return false
    this.seq = seq
    this.writerStart = at
    this.writerEnd = writerEnd
    return true
  }
}

/** The place after a member that may be absent; its value is a string without escapes. */
function optionalMember(json: JsonBytes, from: number, name: Literal): number {
  return skip(json, from, name) < 0 ? from : plainMember(json, from, name)
}

/** The place after a clock of one to three readings. */
function matchClock(json: JsonBytes, from: number): number {
  const { bytes } = json
  let at = skip(json, from, CLOCK)
  if (at < 0) return -1
  for (const name of CLOCK_MEMBERS) {
    const reading = skip(json, at, name)
    if (reading < 0) continue
    at = readingEnd(json, reading)
    if (at < 0) return -1
    if (bytes[at] === CLOSE) return at + 1
    if (bytes[at] !== COMMA) return -1
    at += 1
  }
  return -1
}

/** Whether the object opened before `from` is still open at `to`, the place of a closing brace. */
function staysInside(bytes: Uint8Array, from: number, to: number): boolean {
  let depth = 1
  let inString = false
  for (let at = from; at < to; at++) {
    const byte = bytes[at]
    if (inString) {
      if (byte === BACKSLASH) at += 1
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === OPEN) depth += 1
    else if (byte === CLOSE) {
      depth -= 1
      if (depth === 0) return false
    }
  }
  return true
}

/** What a verb does to an entity, with a payload and without one. */
interface VerbEffects {
  readonly bytes: Uint8Array
  readonly withPayload: Effect
  readonly withoutPayload: Effect
}

/** A journal uses a handful of verbs; one that uses more pays for each line of the others. */
const KEPT_MAX = 64

/** What the record in a frame does, found by the bytes of its verb. */
export class ActionEffects {
  readonly #verbs: VerbEffects[] = []
  #last: VerbEffects | undefined

  of(frame: LineFrame): Effect {
    if (this.#last === undefined || !isVerbOf(frame, this.#last))
      this.#last = this.#verbs.find(verb => isVerbOf(frame, verb)) ?? this.#added(frame)
    return frame.hasPayload ? this.#last.withPayload : this.#last.withoutPayload
  }

  #added({ bytes, actionStart, actionEnd }: LineFrame): VerbEffects {
    const verb = bytes.subarray(actionStart, actionEnd)
    const record = { action: verb.toString('utf8'), item_type: 'any', item_id: 'any' }
    const effects = {
      // A copy: the line's memory is read into again.
      bytes: Uint8Array.from(verb),
      withPayload: effectOf({ ...record, payload: {} }),
      withoutPayload: effectOf(record),
    }
    if (this.#verbs.length < KEPT_MAX) this.#verbs.push(effects)
    return effects
  }
}

function isVerbOf({ bytes, actionStart, actionEnd }: LineFrame, { bytes: verb }: VerbEffects): boolean {
  return verb.length === actionEnd - actionStart && isSame(verb, 0, bytes, actionStart, verb.length)
}
