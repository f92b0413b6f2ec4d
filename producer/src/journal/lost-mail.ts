import { compareUtf8, isCount, type ReadRecord, repairedBy, type SeqRange } from '@kim/manifest'
import type { Draft } from './draft.js'
import { EntityReader } from './entity-reader.js'
import type { JournalState } from './journal-state.js'
import { alertDraft, parseMessageId } from './persona.js'
import type { Store } from './store.js'

/** How far an inbox had come: its largest message id or cursor, and its open pin. */
export interface InboxProgress {
  readonly highest: number
  readonly pinnedAt: number | undefined
}

/** What the journal says about its inboxes, by exact name. */
export type ProgressByInbox = ReadonlyMap<string, InboxProgress>

/** The numbers of the journal from one record on: those seen, and the holes between them. */
interface Numbers {
  readonly highest: number
  see(seq: number): void
  repair(range: SeqRange): void
  openHoles(): readonly SeqRange[]
}

/** A hole behind which an inbox has records, and where its pin has to be for that hole. */
interface Loss {
  readonly hole: SeqRange
  readonly cursorAt: number
}

interface Inbox {
  highest: number
  pinnedAt: number | undefined
  /** How many holes were found before the newest record of this inbox. */
  holesSeen: number
  losses: Loss[]
}

/** What of a record or an entity says something about an inbox. */
type InboxEntity = Pick<ReadRecord, 'item_type' | 'item_id'> & Partial<Pick<ReadRecord, 'payload'>>

/** What a record says about an inbox. */
interface InboxRecord {
  readonly name: string
  readonly highest: number
  readonly pin?: PinState
}

interface PinState {
  readonly cursorAt: number | undefined
  readonly isUnwalked: boolean
}

const PIN_SUFFIX = '/bounded-window'

/** The member of `walk` for a pin above which nothing is proven. */
const UNPROVEN = Number.MAX_SAFE_INTEGER

/** How many inboxes a line of the log names. */
const NAMES_LOGGED = 5

const blank: InboxProgress = { highest: 0, pinnedAt: undefined }

/**
 * Finds the inboxes that may have lost mail (RC-7): a power loss can take records out of the middle of a commit, and
 * those behind them raise the watermark above mail that the journal never had. It reads the journal as an open does,
 * in file order, and says which pins bring that mail back.
 */
export class LostMail {
  readonly #numbers: Numbers
  readonly #progress: () => ProgressByInbox
  readonly #inboxes: Map<string, Inbox> = new Map()
  #holes: SeqRange[] = []
  #isLogged = false

  /** `progress` is asked once, at the first hole: what the records before it say. `numbers` is for this object alone. */
  constructor(numbers: Numbers, progress: () => ProgressByInbox) {
    this.#numbers = numbers
    this.#progress = progress
  }

  /** A line with this number, before it is known whether it has an effect. */
  see(seq: number): void {
    const { highest } = this.#numbers
    this.#numbers.see(seq)
    if (seq <= highest + 1) return
    if (this.#holes.length === 0) {
      for (const [name, progress] of this.#progress()) this.#take(name, progress)
    }
    this.#holes.push({ from: highest + 1, to: seq - 1 })
  }

  /** A record that has its effect, in file order. */
  effective(record: ReadRecord): void {
    const repair = repairedBy(record)
    if (repair !== undefined) this.#numbers.repair(repair)
    if (this.#holes.length === 0) return
    const said = inboxRecord(record)
    if (said === undefined) return
    const inbox = this.#take(said.name, blank)
    const cursorAt = pinFor(inbox)
    const { pin } = said
    if (pin?.isUnwalked === true && pin.cursorAt !== undefined && pin.cursorAt <= cursorAt) {
      // An earlier open set this pin: it answers every hole before it whose mail is above it.
      inbox.losses = inbox.losses.filter(loss => loss.cursorAt < (pin.cursorAt ?? 0))
    } else {
      for (const hole of this.#holes.slice(inbox.holesSeen)) inbox.losses.push({ hole, cursorAt })
    }
    inbox.holesSeen = this.#holes.length
    inbox.highest = Math.max(inbox.highest, said.highest)
    if (pin !== undefined) inbox.pinnedAt = pin.cursorAt
  }

  /** The pins that the journal owes. `state` is what all of its records say. */
  pins(state: JournalState): Draft[] {
    const open = new Set(this.#numbers.openHoles().map(({ from }) => from))
    const drafts: Draft[] = []
    for (const [name, inbox] of [...this.#inboxes].sort(([a], [b]) => compareUtf8(a, b))) {
      const losses = inbox.losses.filter(({ hole }) => open.has(hole.from))
      const [first] = losses
      if (first === undefined) continue
      const cursorAt = losses.reduce(
        (lowest, loss) => Math.min(lowest, loss.cursorAt),
        inbox.pinnedAt ?? UNPROVEN,
      )
      const isNew = state.find('alert', name + PIN_SUFFIX) === undefined
      drafts.push(lossPin(name, { isNew, cursorAt, hole: first.hole }))
    }
    return drafts
  }

  /** The same, once the end of the file is known; the log names the inboxes once. */
  owed({ switches, log }: Store, state: JournalState): readonly Draft[] {
    if (switches.skipLossPins === true) return []
    const pins = this.pins(state)
    if (pins.length === 0 || this.#isLogged) return pins
    this.#isLogged = true
    const names = pins.slice(0, NAMES_LOGGED).map(({ agent }) => agent)
    const more = pins.length > names.length ? ` and ${pins.length - names.length} more` : ''
    log({
      level: 'warn',
      code: 'mail_lost',
      message: `the disk lost records, and mail of ${names.join(', ')}${more} may be among them`,
      hint: 'you need to do nothing: the producer requests the mail of these inboxes again; the alert bounded-window stays open until it has all that the server still shows',
    })
    return pins
  }

  #take(name: string, { highest, pinnedAt }: InboxProgress): Inbox {
    let inbox = this.#inboxes.get(name)
    if (inbox === undefined) {
      inbox = { highest, pinnedAt, holesSeen: 0, losses: [] }
      this.#inboxes.set(name, inbox)
    }
    return inbox
  }
}

/** Where a pin has to be so that a walk finds everything that this inbox has not. */
function pinFor({ highest, pinnedAt }: InboxProgress): number {
  return Math.min(highest, pinnedAt ?? highest)
}

/** The pin of an inbox behind a hole (RC-7, KS-25). */
function lossPin(
  persona: string,
  { isNew, cursorAt, hole }: { readonly isNew: boolean; readonly cursorAt: number; readonly hole: SeqRange },
): Draft {
  const lost = hole.from === hole.to ? `record ${hole.from} is` : `records ${hole.from} to ${hole.to} are`
  const reason = `bounded-window: ${lost} lost; the producer requests mail after message ${cursorAt} again`
  const walk = { next_before_id: UNPROVEN, proven_down_to: UNPROVEN }
  const members = { omitted: 0, window_floor: 0, cursor_at: cursorAt, reconciled: 0, pinned: true, walk }
  const what = { status: 'open', reason, members, event: 'alert' } as const
  return alertDraft({ name: persona, alerts: { has: () => !isNew } }, 'bounded-window', what)
}

/** True for a pin that an open set because of lost records: nothing above it is proven. */
export function isLossPin(record: ReadRecord): boolean {
  return inboxRecord(record)?.pin?.isUnwalked === true
}

function inboxRecord({ item_type, item_id, payload }: InboxEntity): InboxRecord | undefined {
  if (item_id === undefined) return undefined
  switch (item_type) {
    case 'message': {
      const parsed = parseMessageId(item_id)
      return parsed === undefined ? undefined : { name: parsed.persona, highest: parsed.id }
    }
    case 'persona':
      return { name: item_id, highest: countOf(payload?.['cursor']) }
    case 'alert':
      if (!item_id.endsWith(PIN_SUFFIX)) return undefined
      return { name: item_id.slice(0, -PIN_SUFFIX.length), highest: 0, pin: pinState(payload) }
    default:
      return undefined
  }
}

function pinState(payload: ReadRecord['payload']): PinState {
  if (payload?.['status'] !== 'open') return { cursorAt: undefined, isUnwalked: false }
  const walk = payload['walk'] as Readonly<Record<string, unknown>> | null | undefined
  // An open pin that does not say where it is may be anywhere.
  return { cursorAt: countOf(payload['cursor_at']), isUnwalked: walk?.['proven_down_to'] === UNPROVEN }
}

const countOf = (value: unknown): number => (isCount(value) ? value : 0)

/** What the state says about its inboxes; payloads are read from the disk. */
export function inboxProgressOf(store: Store, state: JournalState): ProgressByInbox {
  const readBack = new EntityReader(store)
  const progress = new Map<string, InboxProgress>()
  const take = (entity: InboxEntity): void => {
    const said = inboxRecord(entity)
    if (said === undefined) return
    const { highest, pinnedAt } = progress.get(said.name) ?? blank
    progress.set(said.name, {
      highest: Math.max(highest, said.highest),
      pinnedAt: said.pin === undefined ? pinnedAt : said.pin.cursorAt,
    })
  }
  try {
    for (const { item_type, item_id } of state.entities.entries('message')) take({ item_type, item_id })
    for (const entity of state.live('persona')) take(readBack.view(entity))
    for (const entity of state.live('alert'))
      if (entity.item_id.endsWith(PIN_SUFFIX)) take(readBack.view(entity))
    return progress
  } finally {
    readBack.close()
  }
}
