/** What the journal says of a persona: its record, its messages, its alerts, and the drafts that say so. */
import {
  type AlertKind,
  type Effect,
  type FoldedRecord,
  isAlertKind,
  isCount,
  isJsonObject,
  type JsonObject,
  toWellFormed,
} from '@kim/manifest'
import type { Draft } from './draft.js'
import type { WriterState } from './entity-reader.js'

/** What the record of a persona says (KS-41). */
export interface PersonaRecord {
  readonly cursor: number
  readonly floor: number
  readonly silentTo: number | undefined
  readonly knownFrom: number | undefined
  readonly state: 'up' | 'down'
  readonly watched: boolean
  readonly unreadUrgent: number
  /** The numbers of `seed_ahead` and `replay_capped` stay: they show that these were announced. */
  readonly seeded: number | undefined
  readonly currentMax: number | undefined
  readonly cappedTo: number | undefined
  readonly dropped: number | undefined
}

/** True while silenced messages are still to be announced: those of a cap (KS-34), or of a first contact (KS-94). */
export function owesAnnouncement({ silentTo, seeded, cappedTo }: PersonaRecord): boolean {
  return silentTo !== undefined && silentTo !== seeded && silentTo !== cappedTo
}

/** True while the walk of a first contact is open. What a cap silences is above the `cursor` of the record. */
export function owesBaseline(record: PersonaRecord): boolean {
  return owesAnnouncement(record) && record.silentTo === record.cursor
}

const count = (value: unknown): number | undefined => (isCount(value) ? value : undefined)

/** Reads the payload of a record. What is missing, or of another type, is as in a blank one. */
export function parsePersona(payload: JsonObject): PersonaRecord {
  return {
    cursor: count(payload['cursor']) ?? 0,
    floor: count(payload['floor']) ?? 0,
    silentTo: count(payload['silent_to']),
    knownFrom: count(payload['known_from']),
    state: payload['state'] === 'down' ? 'down' : 'up',
    watched: payload['watched'] !== false,
    unreadUrgent: count(payload['unread_urgent']) ?? 0,
    seeded: count(payload['seeded']),
    currentMax: count(payload['current_max']),
    cappedTo: count(payload['capped_to']),
    dropped: count(payload['dropped']),
  }
}

/** The record of a persona about which nothing is known. */
export const blankPersonaRecord: PersonaRecord = parsePersona({})

/** The payload of the record of a persona, with the numbers of the event that it carries. */
function personaPayload(persona: string, record: PersonaRecord, numbers: JsonObject = {}): JsonObject {
  const payload: Record<string, JsonObject[string]> = {
    schema_version: 1,
    persona,
    cursor: record.cursor,
    floor: record.floor,
    state: record.state,
    watched: record.watched,
    unread_urgent: record.unreadUrgent,
  }
  if (record.silentTo !== undefined) payload['silent_to'] = record.silentTo
  if (record.knownFrom !== undefined) payload['known_from'] = record.knownFrom
  if (record.seeded !== undefined) payload['seeded'] = record.seeded
  if (record.currentMax !== undefined) payload['current_max'] = record.currentMax
  if (record.cappedTo !== undefined) payload['capped_to'] = record.cappedTo
  if (record.dropped !== undefined) payload['dropped'] = record.dropped
  return { ...payload, ...numbers }
}

/** `<persona>/<kind>`; a persona may hold a slash, a kind cannot. */
function parseAlertId(itemId: string): { readonly persona: string; readonly kind: AlertKind } | undefined {
  const at = itemId.lastIndexOf('/')
  const kind = itemId.slice(at + 1)
  return at > 0 && isAlertKind(kind) ? { persona: itemId.slice(0, at), kind } : undefined
}

/** What the journal says about one persona. Only the fold of the journal's records changes it. */
export class Persona {
  readonly name: string
  /** Undefined until there is one. */
  record: PersonaRecord | undefined
  /** How often its record changed; 0 if there never was one. */
  revision: number
  /** How many of these changes retention made since the journal was opened. */
  archivings = 0
  /** The seq of the last record since the journal was opened that says that it is armed; 0 without one. */
  armedSeq = 0
  readonly messages: MessageIndex = new MessageIndex()
  /** Messages that retention took while the record was only created: the end of a first contact counts them. */
  archived: number[] = []
  /** The newest payload of each of its alerts. Its status says whether the alert is open. */
  readonly alerts: Map<AlertKind, JsonObject> = new Map()

  constructor(name: string, revision: number) {
    this.name = name
    this.revision = revision
  }

  /** The payload of an alert that is open. */
  openAlert(kind: AlertKind): JsonObject | undefined {
    const payload = this.alerts.get(kind)
    return payload?.['status'] === 'open' ? payload : undefined
  }

  get isDown(): boolean {
    return this.openAlert('unreachable') !== undefined
  }

  /** W(P) of KS-28. */
  get watermark(): number {
    const pin = this.openAlert('bounded-window')
    return pin === undefined ? this.#top : (count(pin['cursor_at']) ?? 0)
  }

  /** The highest id that was ever in the journal. */
  get #top(): number {
    return Math.max(this.record?.cursor ?? 0, this.messages.highest)
  }

  /** What a record of it says as its `cursor` (KS-37). */
  get cursor(): number {
    if (this.isCountOwed && this.record !== undefined) return this.record.cursor
    return Math.min(this.watermark, this.#top)
  }

  /** Nothing at or below it is ever fetched: it is known, or it was there before this persona was watched. */
  get reach(): number {
    return Math.max(this.watermark, (this.record?.floor ?? 0) - 1)
  }

  /** True for an id that the journal has, or had until retention took it: it is never created again (JF-81). */
  hasHad(id: number): boolean {
    return this.messages.has(id) || id < (this.record?.knownFrom ?? 0)
  }

  /** Its record was created, and only retention changed it since. */
  get isOnlyCreated(): boolean {
    return this.revision - this.archivings === 1
  }

  /** Every id up to it is appended without an event (KS-36). */
  get silentTo(): number {
    return this.record?.silentTo ?? 0
  }

  /** Messages that a cap or a first contact silenced are not announced yet, as its walk is open (KS-34, KS-94). */
  get isCountOwed(): boolean {
    return this.record !== undefined && owesAnnouncement(this.record)
  }
}

/** What the personas are made of. */
export type EntitySource = Pick<WriterState, 'get' | 'outlines' | 'revisionOf'>

/** So many messages are read in one slice: about a millisecond. */
const SLICE = 100

/** Every persona of the journal, by exact name: two spellings are two personas (KS-68). The fold of its records keeps them. */
export class Personas {
  readonly #source: EntitySource
  readonly #byName: Map<string, Persona> = new Map()
  /** The newest message of each author. */
  readonly #authors: Map<string, number> = new Map()
  /** Messages that were in the journal before it was opened, and were not read back yet. */
  #unseen: Iterator<{ readonly item_id: string }> | undefined
  #headSeq = 0

  constructor(source: EntitySource, headSeq: number) {
    this.#source = source
    this.#headSeq = headSeq
    for (const { item_id } of source.outlines('persona')) {
      const payload = source.get('persona', item_id)?.payload
      this.take(item_id).record = parsePersona(payload ?? {})
    }
    for (const { item_id } of source.outlines('alert'))
      this.#alert(item_id, source.get('alert', item_id)?.payload)
    for (const { item_id, read, seq } of source.outlines('message')) {
      const parsed = parseMessageId(item_id)
      if (parsed === undefined) continue
      this.take(parsed.persona).messages.put(parsed.id, { isRead: read, body: UNSEEN_BODY, seq })
    }
    this.#unseen = source.outlines('message')[Symbol.iterator]()
  }

  /** The seq of the newest record that they follow. */
  get headSeq(): number {
    return this.#headSeq
  }

  find(name: string): Persona | undefined {
    return this.#byName.get(name)
  }

  /** The persona of that name, also if the journal says nothing about it yet. */
  take(name: string): Persona {
    let persona = this.#byName.get(name)
    if (persona === undefined) {
      persona = new Persona(name, this.#source.revisionOf('persona', name) ?? 0)
      this.#byName.set(name, persona)
    }
    return persona
  }

  *[Symbol.iterator](): Generator<Persona> {
    yield* this.#byName.values()
  }

  /** The newest record of a live message, read from the disk, and the number of its body. */
  messageOf({ name, messages }: Persona, id: number): { payload: JsonObject; body: number } | undefined {
    const payload = this.#source.get('message', messageItemId(name, id))?.payload
    if (payload === undefined) return undefined
    const body = bodyMark(payload)
    messages.setBody(id, body)
    this.#sawAuthor(payload['from'], id)
    return { payload, body }
  }

  /** The newest message of an author, if there is one. */
  newestOf(author: string): number | undefined {
    return this.#authors.get(author)
  }

  /** True if anybody ever wrote. */
  get hasAuthors(): boolean {
    return this.#authors.size > 0
  }

  /** False while some messages of an earlier process were not read back: only then every author is known. */
  get isSeen(): boolean {
    return this.#unseen === undefined
  }

  /** Reads back some messages of earlier processes, for their authors and bodies. */
  look(): void {
    for (let n = 0; n < SLICE && this.#unseen !== undefined; n++) {
      const { done, value } = this.#unseen.next()
      if (done === true) this.#unseen = undefined
      else {
        const parsed = parseMessageId(value.item_id)
        const persona = parsed === undefined ? undefined : this.find(parsed.persona)
        // One that was read from the disk since, or written again, is known.
        if (parsed !== undefined && persona?.messages.bodyOf(parsed.id) === UNSEEN_BODY)
          this.messageOf(persona, parsed.id)
      }
    }
  }

  #sawAuthor(author: unknown, id: number): void {
    if (typeof author === 'string' && (this.#authors.get(author) ?? -1) < id) this.#authors.set(author, id)
  }

  /** Takes over a record that the fold just took over. */
  apply(record: FoldedRecord, effect: Effect): void {
    const { item_type, item_id, seq } = record
    this.#headSeq = Math.max(this.#headSeq, seq)
    if (item_id === undefined || (effect !== 'upsert' && effect !== 'remove')) return
    const isLive = effect === 'upsert'
    // A large payload is in a blob.
    const payload = isLive ? (record.payload ?? this.#source.get(item_type, item_id)?.payload) : undefined
    if (item_type === 'persona') this.#record(record, isLive ? parsePersona(payload ?? {}) : undefined)
    else if (item_type === 'alert') this.#alert(item_id, payload)
    else if (item_type === 'message') this.#message(item_id, seq, isLive, payload)
  }

  #record({ item_id = '', entity_rev, event, seq }: FoldedRecord, after: PersonaRecord | undefined): void {
    const persona = this.take(item_id)
    const before = persona.record
    persona.record = after
    persona.revision = entity_rev ?? persona.revision + 1
    if (event === 'armed') persona.armedSeq = seq
    // Retention alone raises it (JF-80).
    if (before !== undefined && after?.knownFrom !== before.knownFrom) persona.archivings++
    else persona.archived = []
  }

  #alert(itemId: string, payload: JsonObject | undefined): void {
    const parsed = parseAlertId(itemId)
    if (parsed === undefined) return
    const { alerts } = this.take(parsed.persona)
    if (payload === undefined) alerts.delete(parsed.kind)
    else alerts.set(parsed.kind, payload)
  }

  #message(itemId: string, seq: number, isLive: boolean, payload: JsonObject | undefined): void {
    const parsed = parseMessageId(itemId)
    if (parsed === undefined) return
    const { persona: name, id } = parsed
    const persona = this.take(name)
    if (isLive) {
      const body = payload === undefined ? UNSEEN_BODY : bodyMark(payload)
      persona.messages.put(id, { isRead: isRead(payload), body, seq })
      this.#sawAuthor(payload?.['from'], id)
      return
    }
    persona.messages.drop(id)
    if (persona.isOnlyCreated) persona.archived.push(id)
  }
}

/** The persona and number in a message's `<persona>/<id>`. A persona may hold a slash, an id cannot. */
export function parseMessageId(
  itemId: string,
): { readonly persona: string; readonly id: number } | undefined {
  const at = itemId.lastIndexOf('/')
  const id = Number(itemId.slice(at + 1))
  return at > 0 && isCount(id) ? { persona: itemId.slice(0, at), id } : undefined
}

/**
 * The id of a message's entity. It is joined, because a concatenated string keeps both its halves, and so needs twice the
 * memory.
 */
export function messageItemId(persona: string, id: number): string {
  return [persona, id].join('/')
}

/** The body of a message is not in the journal, or not whole: kept out, clipped, or redacted. It is never compared. */
export const NO_BODY = -1

/** The body of a message that was in the journal before it was opened, and was not read since. */
const UNSEEN_BODY = -2

/**
 * Tells two bodies apart in thirty bits, so that a message costs one small number of memory. A changed body that
 * happens to have the same number goes unnoticed: one in a thousand million.
 */
export function bodyHash(content: string): number {
  // As the journal writes it: without lone surrogates.
  const text = toWellFormed(content)
  let a = 0x3c6ef372
  let b = 0x1b873593 ^ text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    a = Math.imul(a ^ unit, 0x85ebca6b)
    b = Math.imul(b ^ (unit + at), 0xc2b2ae35)
  }
  a ^= a >>> 15
  b ^= b >>> 13
  return (Math.imul(a, 0x27d4eb2f) ^ b) >>> 2
}

/** A message counts as read when its row says so, and when it was redacted. */
export function isRead(payload: JsonObject | undefined): boolean {
  return payload?.['read'] === true || payload?.['redacted'] === true
}

/** The number of the body in the payload of a message. */
function bodyMark(payload: JsonObject | undefined): number {
  if (!isJsonObject(payload) || payload['clipped'] === true) return NO_BODY
  const content = payload['content']
  return typeof content === 'string' ? bodyHash(content) : NO_BODY
}

/** What is kept in memory of a live message. */
interface MessageMark {
  readonly isRead: boolean
  /** The number of its body, `NO_BODY` or `UNSEEN_BODY`. */
  readonly body: number
  /** The record that brought it. */
  readonly seq: number
}

/** The live messages of one persona by id: which are unread, and a number for each body. No bodies. */
export class MessageIndex {
  readonly #bodies: Map<number, number> = new Map()
  /** Each unread message, and the seq of the record that brought it. */
  readonly #unread: Map<number, number> = new Map()
  #highest = 0

  /** How many messages are live. */
  get size(): number {
    return this.#bodies.size
  }

  /** The highest id that was ever live; 0 if there is none. */
  get highest(): number {
    return this.#highest
  }

  /** The lowest live id, if there is one. */
  get lowest(): number | undefined {
    return this.rangeUpTo(Number.POSITIVE_INFINITY)?.range[0]
  }

  /** How many messages are unread. */
  get unread(): number {
    return this.#unread.size
  }

  /** The lowest unread id, if one is unread. */
  get lowestUnread(): number | undefined {
    let lowest: number | undefined
    for (const id of this.#unread.keys()) if (lowest === undefined || id < lowest) lowest = id
    return lowest
  }

  has(id: number): boolean {
    return this.#bodies.has(id)
  }

  isUnread(id: number): boolean {
    return this.#unread.has(id)
  }

  bodyOf(id: number): number {
    return this.#bodies.get(id) ?? UNSEEN_BODY
  }

  /** A message as its newest record has it. A message that was read never becomes unread again. */
  put(id: number, { isRead, body, seq }: MessageMark): void {
    const isNew = !this.#bodies.has(id)
    this.#bodies.set(id, body)
    if (id > this.#highest) this.#highest = id
    if (isRead) this.#unread.delete(id)
    else if (isNew) this.#unread.set(id, seq)
  }

  /** The body of a message that was in the journal before it was opened. */
  setBody(id: number, body: number): void {
    if (this.#bodies.has(id)) this.#bodies.set(id, body)
  }

  /** A message that is not live any more. */
  drop(id: number): void {
    this.#bodies.delete(id)
    this.#unread.delete(id)
  }

  /** The unread messages that records up to a seq brought, ascending. */
  unreadUpTo(headSeq: number): number[] {
    const ids: number[] = []
    for (const [id, seq] of this.#unread) if (seq <= headSeq) ids.push(id)
    return ids.sort((a, b) => a - b)
  }

  /** How many messages are live above one id, up to another. */
  countWithin(above: number, upTo: number): number {
    let count = 0
    for (const id of this.#bodies.keys()) if (id > above && id <= upTo) count++
    return count
  }

  /** The lowest and the highest id up to a bound, and how many there are. */
  rangeUpTo(upTo: number): { readonly count: number; readonly range: readonly [number, number] } | undefined {
    let low = Number.POSITIVE_INFINITY
    let high = 0
    let count = 0
    for (const id of this.#bodies.keys()) {
      if (id > upTo) continue
      count++
      if (id < low) low = id
      if (id > high) high = id
    }
    return count === 0 ? undefined : { count, range: [low, high] }
  }
}

/** The record of a persona, with the event it announces, if any. */
export function personaDraft(
  persona: string,
  record: PersonaRecord,
  how: {
    readonly isNew: boolean
    readonly event?: string
    readonly numbers?: JsonObject
    readonly summary: string
  },
): Draft {
  return {
    agent: persona,
    action: how.isNew ? 'create' : 'update',
    item_type: 'persona',
    item_id: persona,
    summary: how.summary,
    payload: personaPayload(persona, record, how.numbers),
    event: how.event,
  }
}

/** The record of an alert. */
export function alertDraft(
  { alerts, name: persona }: { readonly name: string; readonly alerts: Pick<Persona['alerts'], 'has'> },
  kind: AlertKind,
  what: {
    readonly status: 'open' | 'cleared'
    readonly reason: string
    readonly members?: JsonObject
    readonly event?: 'alert' | 'recovered' | undefined
  },
): Draft {
  const { status, reason, members, event } = what
  return {
    agent: persona,
    action: alerts.has(kind) ? 'update' : 'create',
    item_type: 'alert',
    item_id: `${persona}/${kind}`,
    summary: status === 'open' ? reason : `${kind}: ended`,
    payload: { ...members, schema_version: 1, persona, kind, status, reason },
    event,
  }
}

/** The record that clears an alert, if it is open: what it measured stays. */
export function* clearedAlert(persona: Persona, kind: AlertKind): Generator<Draft> {
  const payload = persona.openAlert(kind)
  if (payload === undefined) return
  const { schema_version: _v, persona: _p, kind: _k, status: _s, reason: was, ...members } = payload
  yield alertDraft(persona, kind, {
    status: 'cleared',
    reason: typeof was === 'string' ? was : kind,
    members,
  })
}
