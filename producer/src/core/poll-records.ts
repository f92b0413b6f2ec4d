/** The records of one healthy poll (KS-46), and the drafts of messages. */
import type { JsonObject } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import {
  alertDraft,
  blankPersonaRecord,
  bodyHash,
  messageItemId,
  NO_BODY,
  owesAnnouncement,
  owesBaseline,
  type Persona,
  type PersonaRecord,
  personaDraft,
} from '../journal/persona.js'
import type { Row } from '../source/source.js'
import { idRegressed, unreadNotShown, windowAlertsCleared } from './alerts.js'
import type { CoreState } from './core.js'
import { isSamePin, isUnwalked, type Pin, pinMembers, pinOf } from './holes.js'
import type { HealthyPoll, TakenRow } from './poll-pages.js'
import type { Inbox } from './schedule.js'

/**
 * The records of one healthy poll in the order of KS-46, so that every prefix is a true journal. The plan is derived
 * from the journal and the poll alone. If a full commit or a crash cuts it anywhere, the plan that is derived from what
 * the journal has then is the rest of it.
 */
export function* pollPlan(core: CoreState, inbox: Inbox, poll: HealthyPoll, nowMs: number): Generator<Draft> {
  const { persona } = inbox
  const plan = new Plan(core, inbox, poll, nowMs)
  yield* plan.recovered()
  yield* plan.silence()
  if (plan.silenced.length > 0) yield* plan.openPin()
  yield* plan.messages(plan.silenced, false)
  yield* plan.firstContact()
  yield* plan.announcements()
  yield* plan.armed()
  yield* plan.openPin()
  yield* plan.messages(plan.news, true)
  yield* rowChanges(core, persona, poll.rows)
  yield* unreadNotShown(core, persona, poll.window, plan.knownTo)
  yield* idRegressed(persona, poll)
  yield* plan.followPin()
  yield* windowAlertsCleared(persona, poll)
}

/** What silences messages of a poll besides what does so already. */
interface Silence {
  readonly silentTo: number
  readonly seeded: number | undefined
}

class Plan {
  readonly #core: CoreState
  readonly #persona: Persona
  readonly #name: string
  readonly #isArmed: boolean
  readonly #poll: HealthyPoll
  readonly #nowMs: number
  /** The rows of the poll that the journal never had, ascending: each becomes a record, announced or not (KS-29). */
  readonly #fresh: readonly TakenRow[]
  readonly #silence: Silence | undefined
  /** Messages that are not announced: all of them at first contact, else those up to the silent id. */
  readonly silenced: readonly TakenRow[]
  /** Messages that are announced unless their author is suppressed. */
  readonly news: readonly TakenRow[]
  /** Mail up to this id was announced before, or never will be: what `recovered` says (KS-49). */
  readonly knownTo: number
  /** The record of the persona as it is after the drafts made so far. */
  #record: PersonaRecord | undefined
  /** The pin as it is after the drafts made so far. */
  #pin: Pin | undefined
  #highest: number

  constructor(core: CoreState, { isArmed, persona }: Inbox, poll: HealthyPoll, nowMs: number) {
    this.#core = core
    this.#persona = persona
    this.#name = persona.name
    this.#isArmed = isArmed
    this.#poll = poll
    this.#nowMs = nowMs
    this.#record = persona.record
    this.#pin = pinOf(persona)
    this.#highest = persona.messages.highest
    this.#fresh = poll.rows.filter(({ row }) => row.id > poll.reach && !persona.hasHad(row.id))
    this.#silence = this.#silenceNow()
    const silentTo = this.#silence?.silentTo ?? persona.silentTo
    const silencedTo =
      poll.arrival === 'damaged' ? 0 : this.#isFirstContact ? Number.POSITIVE_INFINITY : silentTo
    this.silenced = this.#fresh.filter(({ row }) => row.id <= silencedTo)
    this.news = this.#fresh.filter(({ row }) => row.id > silencedTo)
    const takenTo = this.#isFirstContact ? poll.rows.at(-1)?.row.id : undefined
    const seeded = this.#silence?.seeded ?? this.#record?.seeded
    this.knownTo = Math.max(poll.watermark, takenTo ?? 0, seeded ?? 0)
  }

  /**
   * Up to which id messages are appended without an event from this poll on, if that changes (KS-34 to KS-36): a
   * seed does it for a persona without a record, a cap at arming. There is no cap while a pin is open: what its walks
   * bring is no backlog, and none for a persona that is armed below its window.
   */
  #silenceNow(): Silence | undefined {
    const { maxReplay, seedAt } = this.#core.options
    const { arrival, pin } = this.#poll
    const { record, silentTo: silentBefore } = this.#persona
    const isResumed = arrival === 'known' || arrival === 'seed'
    // A seed that the record has already did what it was for.
    const seeded = !this.#isArmed && isResumed && record?.seeded !== seedAt ? seedAt : undefined
    const before = Math.max(silentBefore, seeded ?? 0)
    const waiting = this.#fresh.filter(({ row }) => row.id > before).length
    const isCapped = !this.#isArmed && pin === undefined && isResumed && waiting > maxReplay
    const silentTo = isCapped ? (this.#fresh.at(-1)?.row.id ?? before) : before
    if (silentTo <= silentBefore && seeded === undefined) return undefined
    return { silentTo, seeded: seeded ?? record?.seeded }
  }

  get #isFirstContact(): boolean {
    return this.#poll.arrival === 'first-contact'
  }

  /** A full disk held this pin back until after this window came: the next poll is the first that walks for it. */
  get #isPinAhead(): boolean {
    const { pin } = this.#poll
    return this.#pin !== undefined && isUnwalked(this.#pin) && (pin === undefined || !isUnwalked(pin))
  }

  /** Messages that a cap or a first contact silences may still be missing. */
  get #isWalkOpen(): boolean {
    return this.#poll.holes.length > 0 || this.#isPinAhead
  }

  /** The watermark after the drafts made so far. A pin at a seed may hold it above every message (KS-37). */
  get #watermark(): number {
    const top = Math.max(this.#record?.cursor ?? 0, this.#highest)
    return Math.min(this.#pin?.cursorAt ?? top, top)
  }

  /** A cursor in a record stays as long as what it silenced is not announced (KS-37). */
  get #cursor(): number {
    return this.#persona.isCountOwed && this.#record !== undefined ? this.#record.cursor : this.#watermark
  }

  /** The persona's record from here on, and its draft. */
  #recorded(
    record: PersonaRecord,
    summary: string,
    how: { readonly event?: string; readonly numbers?: JsonObject } = {},
  ): Draft {
    const isNew = this.#record === undefined
    this.#record = record
    return personaDraft(this.#name, record, { ...how, isNew, summary })
  }

  /** Step 1: the inbox answers again. */
  *recovered(): Generator<Draft> {
    const payload = this.#persona.openAlert('unreachable')
    if (payload !== undefined) {
      yield alertDraft(this.#persona, 'unreachable', {
        status: 'cleared',
        reason: typeof payload['reason'] === 'string' ? payload['reason'] : 'unreachable',
        members: { cursor: this.knownTo },
        event: 'recovered',
      })
    }
    if (this.#record?.state !== 'down') return
    const draft = this.#recorded(
      { ...this.#record, state: 'up', cursor: this.#cursor },
      `${this.#name} is up`,
    )
    // The record that arms it says so too.
    if (this.#isArmed) yield draft
  }

  /** Step 2: what silences comes before the first message that it silences, and so does the floor of a seed. */
  *silence(): Generator<Draft> {
    const silence = this.#silence
    const floor = this.#isFirstContact ? undefined : this.#poll.floor
    const before = this.#record ?? blankPersonaRecord
    if (silence === undefined && (floor === undefined || floor === before.floor)) return
    const currentMax = silence?.seeded === before.seeded ? before.currentMax : undefined
    const after = { ...before, ...(silence && { ...silence, currentMax }), floor: floor ?? before.floor }
    const summary =
      silence === undefined
        ? `${this.#name}: the journal covers messages from ${after.floor} on; older ones are not recorded`
        : `${this.#name}: messages up to ${silence.silentTo} are recorded without an event`
    yield this.#recorded({ ...after, cursor: this.#cursor }, summary)
  }

  /** Steps 2 and 6: a hole that no pin declares yet, before any message above it. */
  *openPin(): Generator<Draft> {
    const { holes, window } = this.#poll
    const before = this.#pin
    const isDeclared = holes.every(({ above, below }) =>
      before?.holes.some(known => known.above <= above && below <= known.below),
    )
    if (isDeclared) return
    this.#pin = this.#pinNow(before)
    const amount = window.isExact ? `${window.omitted}` : `at least ${window.omitted}`
    const reason = `bounded-window: the server left out ${amount} messages after message ${this.#pin.cursorAt}; the producer requests them`
    yield alertDraft(this.#persona, 'bounded-window', {
      status: 'open',
      reason: before === undefined ? reason : this.#pinReason(reason),
      members: pinMembers(this.#pin),
      event: before === undefined ? 'alert' : undefined,
    })
  }

  #pinReason(otherwise: string): string {
    const reason = this.#persona.openAlert('bounded-window')?.['reason']
    return typeof reason === 'string' ? reason : otherwise
  }

  #pinNow(before: Pin | undefined): Pin {
    const { holes, pin, recovered, reach, window, rows } = this.#poll
    const measured = before === undefined || isUnwalked(before) ? undefined : before
    return {
      cursorAt: pin?.cursorAt ?? reach,
      holes,
      reconciled: (pin?.reconciled ?? 0) + recovered,
      windowFloor: measured?.windowFloor ?? window.rows[0]?.id ?? rows[0]?.row.id ?? 0,
      omitted: measured?.omitted ?? window.omitted,
    }
  }

  /** Steps 3 and 7. */
  *messages(rows: readonly TakenRow[], areNews: boolean): Generator<Draft> {
    const { options, suppressed } = this.#core
    const { keepContent } = options
    const action = this.#isFirstContact ? 'backfill' : 'create'
    const waitMs = Math.max(0, this.#nowMs - this.#poll.receivedMs)
    for (const taken of rows) {
      const { id, from } = taken.row
      const isNews = areNews && (from === null || !suppressed.has(from))
      this.#highest = Math.max(this.#highest, id)
      yield messageDraft(this.#name, taken, { action, isNews, keepContent, waitMs })
    }
  }

  /** Step 3: first contact ends with the persona's record (KS-30). What a walk still brings of it is silent (KS-94). */
  *firstContact(): Generator<Draft> {
    if (!this.#isFirstContact || this.#record !== undefined) return
    const { floor = 0, holes } = this.#poll
    const cursor = this.#highest
    const silentTo = holes.length === 0 ? undefined : cursor
    const summary = `first poll of ${this.#name}: ${cursor === 0 ? 'it has no message yet' : `the newest message is ${cursor}`}`
    yield this.#recorded({ ...blankPersonaRecord, cursor, floor, silentTo }, summary)
  }

  /** Step 4: what arming has to say; each once, wherever the plan was cut before. */
  *announcements(): Generator<Draft> {
    if (this.#poll.arrival === 'damaged' && this.#record === undefined) yield this.#stateCorrupt()
    if (this.#record === undefined) return
    if (this.#needsBaseline(this.#record)) yield* this.#baseline(this.#record)
    yield* this.#seedAhead(this.#record)
    if (!this.#isWalkOpen) yield* this.#replayCapped(this.#record)
  }

  /** KS-38: damage proves that there was a cursor. So what is visible is news, and somebody must know. */
  #stateCorrupt(): Draft {
    const lowest = this.#poll.rows[0]?.row.id
    const reason =
      'state_corrupt: records of this inbox are missing from the journal, so mail that was announced before may be announced again'
    return this.#recorded(
      { ...blankPersonaRecord, floor: lowest ?? 0 },
      `${this.#name}: records are missing, so mail may be announced again`,
      { event: 'state_corrupt', numbers: { armed_at: Math.max(0, (lowest ?? 1) - 1), reason } },
    )
  }

  /** A record that was only created, by a first contact with mail, was cut off before what follows it. */
  #needsBaseline(owing: PersonaRecord): boolean {
    const { record, isOnlyCreated } = this.#persona
    if (owesBaseline(owing)) return !this.#isWalkOpen
    if (this.#isArmed || owing.cursor === 0) return false
    return record === undefined ? this.#isFirstContact : isOnlyCreated
  }

  /**
   * KS-31: the inbox was not empty when it was taken over, and what it held is not announced. A record that waited for
   * the end of its walk silences nothing any more.
   */
  *#baseline(record: PersonaRecord): Generator<Draft> {
    const isWalked = owesBaseline(record)
    const after: PersonaRecord = isWalked ? { ...record, silentTo: undefined } : record
    const { cursor } = record
    const skipped = this.#rangeUpTo(cursor)
    const unread = this.#unreadUpTo(cursor)
    if (skipped !== undefined && unread !== 0) {
      const summary = `${this.#name}: ${skipped.count} existing messages are recorded but not announced`
      const reason = `baseline_skipped: the first poll of this inbox found ${skipped.count} messages; they are recorded but not announced`
      const { count, range } = skipped
      const numbers = { armed_at: cursor, skipped: count, id_range: range, unread_held: unread, reason }
      yield this.#recorded(after, summary, { event: 'baseline_skipped', numbers })
    } else if (isWalked) {
      yield this.#recorded(after, `${this.#name}: messages up to ${cursor} are recorded without an event`)
    }
  }

  /** What a first contact passed over: the messages up to its cursor, those of this plan included. */
  #rangeUpTo(cursor: number): { readonly count: number; readonly range: number[] } | undefined {
    const { archived, messages } = this.#persona
    const live = messages.rangeUpTo(cursor)
    const others = [...archived, ...this.silenced.map(({ row }) => row.id)].filter(id => id <= cursor)
    const ids = [...(live?.range ?? []), ...others].sort((a, b) => a - b)
    const [low] = ids
    const high = ids.at(-1)
    if (low === undefined || high === undefined) return undefined
    return { count: (live?.count ?? 0) + others.length, range: [low, high] }
  }

  /** The unread count of the inbox, which says nothing about an earlier id once there is later mail. */
  #unreadUpTo(id: number): number | 'unknown' {
    const unread = this.#core.unreadOf(this.#name)
    const highest = Math.max(this.#highest, this.#fresh.at(-1)?.row.id ?? 0)
    return unread !== 0 && highest > id ? 'unknown' : unread
  }

  /** KS-35: the seed lies above everything visible. Announced once: its number stays in the record. */
  *#seedAhead(record: PersonaRecord): Generator<Draft> {
    const { seeded, currentMax } = record
    const visible = this.#poll.rows.at(-1)?.row.id ?? 0
    if (seeded === undefined || currentMax !== undefined || this.#poll.wasArmed || seeded <= visible) return
    const summary = `${this.#name}: the seed ${seeded} is above the newest message, ${visible}; new mail up to ${seeded} will not be announced`
    yield this.#recorded({ ...record, currentMax: visible }, summary, { event: 'seed_ahead' })
  }

  /** KS-34: how many messages a cap silenced, exact; the count is complete once no walk is open. */
  *#replayCapped(record: PersonaRecord): Generator<Draft> {
    const { silentTo, seeded, cursor } = record
    if (silentTo === undefined || !owesAnnouncement(record) || owesBaseline(record)) return
    const above = Math.max(cursor, seeded ?? 0)
    const now = this.silenced.filter(({ row }) => row.id > above && row.id <= silentTo).length
    const dropped = this.#persona.messages.countWithin(above, silentTo) + now
    const summary = `${this.#name}: ${dropped} messages up to message ${silentTo} are recorded but not announced, because more came than --max-replay allows`
    yield this.#recorded({ ...record, cappedTo: silentTo, dropped }, summary, { event: 'replay_capped' })
  }

  /** Step 5: once in the life of a process (KS-32). */
  *armed(): Generator<Draft> {
    const record = this.#record
    if (this.#isArmed || record === undefined) return
    const cursor = owesAnnouncement(record) ? record.cursor : this.#watermark
    const summary = `${this.#name} is armed; new mail begins after message ${cursor}`
    yield this.#recorded({ ...record, cursor, state: 'up', watched: true }, summary, { event: 'armed' })
  }

  /** Step 10: a pin is cleared once nothing is left to walk; until then it says how far the walks came. */
  *followPin(): Generator<Draft> {
    const before = this.#pin
    if (before === undefined || this.#isPinAhead) return
    const reason = this.#pinReason('bounded-window')
    const after = this.#pinNow(before)
    const members = pinMembers(after)
    if (after.holes.length === 0) {
      const { walk: _, ...measured } = members
      yield alertDraft(this.#persona, 'bounded-window', { status: 'cleared', reason, members: measured })
    } else if (!isSamePin(before, after)) {
      yield alertDraft(this.#persona, 'bounded-window', { status: 'open', reason, members })
    }
  }
}

/** Code points, as a person counts characters of a body. */
function codePoints(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) count--
  }
  return count
}

/** The payload of a message (KS-41, KS-42, KS-43). */
function messagePayload(persona: string, { row, isClipped }: TakenRow, keepContent: boolean): JsonObject {
  return {
    schema_version: 1,
    persona,
    id: row.id,
    from: row.from,
    ...(keepContent ? { content: row.content } : {}),
    content_length: codePoints(row.content),
    created: row.created,
    read: row.read,
    ...(isClipped ? { clipped: true } : {}),
  }
}

/** The record of a message that the journal never had; without an event no sink announces it. */
function messageDraft(
  persona: string,
  taken: TakenRow,
  how: {
    readonly action: 'backfill' | 'create'
    readonly isNews: boolean
    readonly keepContent: boolean
    readonly waitMs: number
  },
): Draft {
  const { id, from } = taken.row
  return {
    agent: persona,
    action: how.action,
    item_type: 'message',
    item_id: messageItemId(persona, id),
    summary: `message ${id} from ${from ?? 'an unknown author'}`,
    payload: messagePayload(persona, taken, how.keepContent),
    event: how.isNews ? 'new' : undefined,
    wait_ms: how.waitMs,
  }
}

/** The record of a live message, with what changed about it. */
function messageUpdate(persona: string, id: number, payload: JsonObject, what: string): Draft {
  return {
    agent: persona,
    action: 'update',
    item_type: 'message',
    item_id: messageItemId(persona, id),
    summary: `message ${id}: ${what}`,
    payload,
  }
}

/**
 * What rows say about live messages: that they were read, or that their text changed (KS-43). A redacted message is
 * never updated, and no message becomes unread again.
 */
function* rowChanges(
  { options, personas }: CoreState,
  persona: Persona,
  rows: readonly TakenRow[],
): Generator<Draft> {
  const { messages, name } = persona
  for (const { row, isClipped } of rows) {
    if (!messages.has(row.id)) continue
    const becameRead = row.read && messages.isUnread(row.id)
    const known = messages.bodyOf(row.id)
    const compares = options.keepContent && !isClipped && known !== NO_BODY
    const body = compares ? bodyHash(row.content) : NO_BODY
    if (!becameRead && (!compares || known === body)) continue
    const stored = personas.messageOf(persona, row.id)
    if (stored === undefined) continue
    const isOther = compares && stored.body !== NO_BODY && stored.body !== body
    const { payload } = stored
    if ((!becameRead && !isOther) || payload['redacted'] === true) continue
    yield messageUpdate(name, row.id, ...changeOf(payload, row, isOther))
  }
}

function changeOf(payload: JsonObject, row: Row, isOther: boolean): [JsonObject, string] {
  const read = payload['read'] === true || row.read
  if (!isOther) return [{ ...payload, read }, 'it was read']
  const { content } = row
  return [{ ...payload, content, content_length: codePoints(content), read }, 'its text changed']
}

/** These messages were read, as the counts or a walk over unread rows say. */
export function* readMarks(
  { personas }: CoreState,
  persona: Persona,
  ids: readonly number[],
): Generator<Draft> {
  for (const id of ids) {
    if (!persona.messages.isUnread(id)) continue
    const payload = personas.messageOf(persona, id)?.payload
    if (payload === undefined || payload['redacted'] === true || payload['read'] === true) continue
    yield messageUpdate(persona.name, id, { ...payload, read: true }, 'it was read')
  }
}
