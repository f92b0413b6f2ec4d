import type { Draft } from '../journal/draft.js'
import {
  blankPersonaRecord,
  owesAnnouncement,
  owesBaseline,
  type Persona,
  type PersonaRecord,
} from '../journal/persona.js'
import { baselineSkipped, replayCapped, seedAhead, stateCorrupt } from './announcements.js'
import { freshRows, silenceOf } from './arming.js'
import { alertDraft, messageDraft, personaDraft } from './drafts.js'
import type { Holes } from './hole.js'
import { isSamePin, isUnwalked, type Pin, pinMembers, pinOf } from './pin.js'
import type { PlanContext } from './plan-context.js'
import type { HealthyPoll, TakenRow } from './poll.js'
import { rowChanges } from './row-changes.js'
import { windowAlarmsCleared, windowAlarmsOpened } from './window-alarms.js'

/** What a plan of records starts from. */
export interface PlanTerms {
  readonly context: PlanContext
  readonly isArmed: boolean
  readonly nowMs: number
}

/**
 * The records of one healthy poll in the order of KS-46, so that every prefix is a true journal. It is derived from
 * what stands and from the poll alone: cut anywhere, by a full commit or by a crash, the plan made anew from
 * what then stands is the rest of it.
 */
export function* pollPlan(persona: Persona, poll: HealthyPoll, terms: PlanTerms): Generator<Draft> {
  const plan = new Plan(persona, poll, terms)
  yield* plan.recovered()
  const silenced = plan.silenced()
  yield* plan.silence()
  if (silenced.length > 0) yield* plan.openPin()
  yield* plan.messages(silenced, false)
  yield* plan.firstContact()
  yield* plan.announcements(silenced)
  yield* plan.armed()
  yield* plan.openPin()
  yield* plan.messages(plan.news(), true)
  yield* rowChanges(persona, poll, terms.context)
  yield* windowAlarmsOpened(persona, poll, terms.context)
  yield* plan.followPin()
  yield* windowAlarmsCleared(persona, poll)
}

class Plan {
  readonly #persona: Persona
  readonly #poll: HealthyPoll
  readonly #terms: PlanTerms
  readonly #fresh: readonly TakenRow[]
  readonly #silentTo: number
  readonly #silence: ReturnType<typeof silenceOf>
  /** The persona's record as it stands after the drafts made so far. */
  #record: PersonaRecord | undefined
  /** The pin as it stands after the drafts made so far. */
  #pin: Pin | undefined
  #highest: number

  constructor(persona: Persona, poll: HealthyPoll, terms: PlanTerms) {
    this.#persona = persona
    this.#poll = poll
    this.#terms = terms
    const { maxReplay, seedAt } = terms.context.options
    this.#fresh = freshRows(persona, poll)
    this.#silence = silenceOf(persona, poll, this.#fresh, { isArmed: terms.isArmed, maxReplay, seedAt })
    this.#silentTo = this.#silence?.silentTo ?? persona.silentTo
    this.#record = persona.record
    this.#pin = pinOf(persona)
    this.#highest = persona.messages.highest
  }

  get #name(): string {
    return this.#persona.name
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

  /** The watermark after the drafts made so far. A pin at a seed may hold it above all that stands (KS-37). */
  get #watermark(): number {
    const top = Math.max(this.#record?.cursor ?? 0, this.#highest)
    return Math.min(this.#pin?.cursorAt ?? top, top)
  }

  /** A cursor in a record stays as long as what it silenced is not announced (KS-37). */
  get #cursor(): number {
    return this.#persona.isCountOwed && this.#record !== undefined ? this.#record.cursor : this.#watermark
  }

  /** Step 1: the inbox answers again. */
  *recovered(): Generator<Draft> {
    const persona = this.#persona
    const payload = persona.openAlert('unreachable')
    if (payload !== undefined) {
      yield alertDraft(this.#name, 'unreachable', {
        isNew: false,
        status: 'cleared',
        reason: typeof payload['reason'] === 'string' ? payload['reason'] : 'unreachable',
        members: { cursor: this.#watermark },
        event: 'recovered',
      })
    }
    if (this.#record?.state !== 'down') return
    this.#record = { ...this.#record, state: 'up', cursor: this.#cursor }
    // The record that arms it says so too.
    if (!this.#terms.isArmed) return
    yield personaDraft(this.#name, this.#record, { isNew: false, summary: `${this.#name} is up` })
  }

  /** Messages that wake nobody: all of them at first contact, else those up to the silent id. */
  silenced(): readonly TakenRow[] {
    if (this.#poll.arrival === 'damaged') return []
    if (this.#isFirstContact) return this.#fresh
    return this.#fresh.filter(({ row }) => row.id <= this.#silentTo)
  }

  /** Messages that are news unless their author is suppressed. */
  news(): readonly TakenRow[] {
    if (this.#isFirstContact) return []
    if (this.#poll.arrival === 'damaged') return this.#fresh
    return this.#fresh.filter(({ row }) => row.id > this.#silentTo)
  }

  /** Step 2: what silences stands before the first message that it silences, and so does the floor of a seed. */
  *silence(): Generator<Draft> {
    const silence = this.#silence
    const floor = this.#isFirstContact ? undefined : this.#poll.floor
    const isNew = this.#record === undefined
    const before = this.#record ?? blankPersonaRecord
    if (silence === undefined && (floor === undefined || floor === before.floor)) return
    const silent =
      silence === undefined
        ? {}
        : { ...silence, currentMax: silence.seeded === before.seeded ? before.currentMax : undefined }
    this.#record = { ...before, ...silent, floor: floor ?? before.floor, cursor: this.#cursor }
    const summary =
      silence === undefined
        ? `${this.#name} is known from ${this.#record.floor} on`
        : `${this.#name}: messages up to ${silence.silentTo} are recorded without an event`
    yield personaDraft(this.#name, this.#record, { isNew, summary })
  }

  /** Steps 2 and 6: a hole that no pin declares yet, before any message above it. */
  *openPin(): Generator<Draft> {
    const { holes, window } = this.#poll
    if (holes.length === 0 || isDeclared(holes, this.#pin)) return
    const standing = this.#pin
    this.#pin = this.#pinNow(standing)
    const amount = window.isExact ? `${window.omitted}` : `at least ${window.omitted}`
    const reason = `bounded-window: ${amount} messages are withheld above ${this.#pin.cursorAt}`
    yield alertDraft(this.#name, 'bounded-window', {
      isNew: !this.#persona.alerts.has('bounded-window'),
      status: 'open',
      reason: standing === undefined ? reason : this.#pinReason(reason),
      members: pinMembers(this.#pin),
      event: standing === undefined ? 'alert' : undefined,
    })
  }

  #pinReason(otherwise: string): string {
    const reason = this.#persona.openAlert('bounded-window')?.['reason']
    return typeof reason === 'string' ? reason : otherwise
  }

  #pinNow(standing: Pin | undefined): Pin {
    const { holes, pin, recovered, reach, window, rows } = this.#poll
    const measured = standing === undefined || isUnwalked(standing) ? undefined : standing
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
    const { context, nowMs } = this.#terms
    const action = this.#isFirstContact ? 'backfill' : 'create'
    const waitMs = Math.max(0, nowMs - this.#poll.receivedMs)
    for (const { row, isClipped } of rows) {
      const isNews = areNews && (row.from === null || !context.suppressed.has(row.from))
      const { keepContent } = context.options
      this.#highest = Math.max(this.#highest, row.id)
      yield messageDraft(row, { persona: this.#name, isClipped, keepContent }, { action, isNews, waitMs })
    }
  }

  /** Step 3: first contact ends with the persona's record (KS-30). What a walk still brings of it is silent (KS-94). */
  *firstContact(): Generator<Draft> {
    if (!this.#isFirstContact || this.#record !== undefined) return
    const { floor = 0, holes } = this.#poll
    const cursor = this.#highest
    this.#record = { ...blankPersonaRecord, cursor, floor, silentTo: holes.length === 0 ? undefined : cursor }
    const summary = `${this.#name} is watched from ${cursor} on`
    yield personaDraft(this.#name, this.#record, { isNew: true, summary })
  }

  /** Step 4: what arming has to say; each once, whatever is cut where. */
  *announcements(silenced: readonly TakenRow[]): Generator<Draft> {
    const persona = this.#persona
    if (this.#poll.arrival === 'damaged' && this.#record === undefined) {
      const { draft, record } = stateCorrupt(this.#name, this.#poll)
      this.#record = record
      yield draft
    }
    if (this.#record === undefined) return
    if (this.#needsBaseline(this.#record)) yield* this.#baseline(this.#record, silenced)
    const ahead = seedAhead(this.#name, this.#record, this.#poll)
    if (ahead !== undefined) {
      this.#record = ahead.record
      yield ahead.draft
    }
    if (this.#isWalkOpen) return
    const capped = replayCapped(persona, this.#record, silenced)
    if (capped === undefined) return
    this.#record = capped.record
    yield capped.draft
  }

  /** What a first contact passed over. A record that waited for the end of its walk silences nothing any more. */
  *#baseline(record: PersonaRecord, silenced: readonly TakenRow[]): Generator<Draft> {
    const isWalked = owesBaseline(record)
    const after: PersonaRecord = isWalked ? { ...record, silentTo: undefined } : record
    this.#record = after
    const skipped = rangeOf(this.#persona, silenced, record.cursor)
    const unread = this.#unreadUpTo(record.cursor)
    const draft = skipped === undefined ? undefined : baselineSkipped(this.#persona, after, skipped, unread)
    if (draft !== undefined) yield draft
    else if (isWalked) {
      const summary = `${this.#name}: everything up to ${record.cursor} was taken over`
      yield personaDraft(this.#name, after, { isNew: false, summary })
    }
  }

  /** The unread count of the inbox, which says nothing about an earlier id once there is later mail. */
  #unreadUpTo(id: number): number | 'unknown' {
    const unread = this.#terms.context.unreadOf(this.#name)
    const highest = Math.max(this.#highest, this.#fresh.at(-1)?.row.id ?? 0)
    return unread !== 0 && highest > id ? 'unknown' : unread
  }

  /** A record that was only created, by a first contact with mail, was cut off before what follows it. */
  #needsBaseline(owing: PersonaRecord): boolean {
    const { record, isOnlyCreated } = this.#persona
    const { cursor } = owing
    if (owesBaseline(owing)) return !this.#isWalkOpen
    if (this.#terms.isArmed || cursor === 0) return false
    return record === undefined ? this.#isFirstContact : isOnlyCreated
  }

  /** Step 5: once per life of the process (KS-32). */
  *armed(): Generator<Draft> {
    if (this.#terms.isArmed || this.#record === undefined) return
    const cursor = owesAnnouncement(this.#record) ? this.#record.cursor : this.#watermark
    this.#record = { ...this.#record, cursor, state: 'up', watched: true }
    const summary = `${this.#name} is armed at ${cursor}`
    yield personaDraft(this.#name, this.#record, { isNew: false, event: 'armed', summary })
  }

  /** Step 10: a pin is cleared once nothing is left to walk; until then it says how far the walks came. */
  *followPin(): Generator<Draft> {
    const standing = this.#pin
    if (standing === undefined || this.#isPinAhead) return
    const reason = this.#pinReason('bounded-window')
    const next = this.#pinNow(standing)
    const members = pinMembers(next)
    if (next.holes.length === 0) {
      const { walk: _, ...measured } = members
      yield alertDraft(this.#name, 'bounded-window', {
        isNew: false,
        status: 'cleared',
        reason,
        members: measured,
      })
    } else if (!isSamePin(standing, next)) {
      yield alertDraft(this.#name, 'bounded-window', { isNew: false, status: 'open', reason, members })
    }
  }
}

/** True where every hole lies within one that a pin declares already. */
function isDeclared(holes: Holes, pin: Pin | undefined): boolean {
  if (pin === undefined) return false
  return holes.every(({ above, below }) =>
    pin.holes.some(known => known.above <= above && below <= known.below),
  )
}

/** What a first contact passed over: the messages up to the cursor, those of this plan included. */
function rangeOf(
  persona: Persona,
  silenced: readonly TakenRow[],
  upTo: number,
): { readonly count: number; readonly range: readonly [number, number] } | undefined {
  const live = persona.messages.rangeUpTo(upTo)
  const others = [...persona.archived, ...silenced.map(({ row }) => row.id)].filter(id => id <= upTo)
  const ids = [...(live?.range ?? []), ...others].sort((a, b) => a - b)
  const [low] = ids
  const high = ids.at(-1)
  const count = (live?.count ?? 0) + others.length
  return low === undefined || high === undefined ? undefined : { count, range: [low, high] }
}
