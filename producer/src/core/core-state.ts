import { registryOfAllCapability } from '@kim/manifest'
import type { WriterState } from '../journal/entity-reader.js'
import type { OpenHistory } from '../journal/open.js'
import type { Personas } from '../journal/persona.js'
import type { Ask, CoreNote, CoreOptions } from './core.js'
import { DirectoryWatch } from './directory-watch.js'
import type { CountsTable } from './facts-plan.js'
import { Inbox } from './inbox.js'
import { usableNames } from './names.js'
import type { PlanContext } from './plan-context.js'
import type { Arrival } from './poll.js'
import { assertSeed, isSeedSpent } from './seed.js'

/** What the core needs of an open journal. */
export interface CoreJournal {
  readonly state: Pick<WriterState, 'personas' | 'capabilities'>
  readonly history: Pick<OpenHistory, 'isWhole' | 'holes'>
}

/** So many names that are none are said in the life of a process. */
const REFUSED_MAX = 100

/** What may be asked, before it has a number. */
type AskBody = Ask extends infer One ? (One extends Ask ? Omit<One, 'id'> : never) : never

/** Everything that the decisions of one process share: what the journal says, who is watched, what was heard. */
export class CoreState implements PlanContext {
  readonly options: CoreOptions
  readonly suppressed: ReadonlySet<string>
  readonly capabilities: ReadonlySet<string>
  readonly personas: Personas
  readonly inboxes: Map<string, Inbox> = new Map()
  readonly directory: DirectoryWatch | undefined
  readonly mode: 'all' | 'list'
  /** Of a list: inboxes that answered with nothing and of which nothing stands, so that they may not exist. */
  readonly unproven: Set<string> = new Set()
  /** Undefined while no counts are at hand. */
  table: CountsTable
  /** Equal counts may hide mail that came in: no token would show it (KS-54). */
  hasPlainCounts: boolean
  /** An answer for counts came in, whatever it was. */
  hasHeardCounts = false
  /** Personas of which something may have to be recorded. */
  readonly dirty: Set<string> = new Set()
  /** The two account-wide alarms may have changed. */
  areAlarmsDirty = true
  isGenesisDirty = true
  /** The newest record when this process began. */
  readonly #startSeq: number
  readonly #hasKnown: boolean
  readonly #isDamaged: boolean
  readonly #outbox: Ask[] = []
  readonly #notes: CoreNote[] = []
  readonly #said: Set<string> = new Set()
  #refused = 0
  #ids = 0
  #isStarted = false

  constructor(options: CoreOptions, journal: CoreJournal) {
    this.options = options
    this.hasPlainCounts = options.dialect === 'local'
    this.suppressed = new Set(options.suppressedAuthors)
    this.capabilities = journal.state.capabilities
    this.personas = journal.state.personas
    this.#startSeq = this.personas.headSeq
    this.mode = options.personas === undefined ? 'all' : 'list'
    this.directory = this.mode === 'all' ? new DirectoryWatch(options.rediscoverSeconds) : undefined
    const { isWhole, holes } = journal.history
    this.#isDamaged = !isWhole || holes.length > 0
    const [seeded] = options.personas ?? []
    if (options.seedAt !== undefined && seeded !== undefined) {
      const persona = this.personas.find(seeded.trim())
      assertSeed(persona, options.seedAt)
      if (isSeedSpent(persona, options.seedAt)) this.#saySeedSpent(seeded, options.seedAt)
    }
    this.#hasKnown = [...this.personas].some(({ record }) => record !== undefined)
  }

  /** Some persona had a record when this process began, or was armed since. */
  get hasArmed(): boolean {
    return this.#hasKnown || [...this.inboxes.values()].some(({ isArmed }) => isArmed)
  }

  /** The personas known from the start: those of the list, or those of the journal that were watched. */
  start(nowMs: number): void {
    if (this.#isStarted) return
    this.#isStarted = true
    if (this.options.personas === undefined) {
      for (const { name, record } of [...this.personas])
        if (record?.watched === true) this.watch(name, nowMs, true)
      return
    }
    const { usable, refused } = usableNames(this.options.personas)
    for (const name of usable) this.watch(name, nowMs, true)
    for (const name of refused) this.refuse(name)
    for (const { name, record } of this.personas) {
      if (record?.watched === true && !this.inboxes.has(name)) this.dirty.add(name)
    }
  }

  /** Watches an inbox from now on; nothing happens if it is watched. */
  watch(name: string, nowMs: number, isFromStart: boolean): void {
    if (this.inboxes.has(name)) return
    const persona = this.personas.take(name)
    const isAdded =
      this.mode === 'all' &&
      persona.record === undefined &&
      // One that failed until it was announced as missing left its alarm behind.
      !persona.alerts.has('unreachable') &&
      this.capabilities.has(registryOfAllCapability) &&
      !(this.#isDamaged && isFromStart)
    const place = { rank: this.inboxes.size, nowMs, isFromStart, isAdded, startSeq: this.#startSeq }
    this.inboxes.set(name, new Inbox(persona, place))
    this.isGenesisDirty = true
    this.dirty.add(name)
  }

  /** How a persona comes in with its next poll (section 6). */
  arrivalOf(inbox: Inbox): Arrival {
    const { persona } = inbox
    if (persona.record !== undefined || inbox.isAdded) return 'known'
    // A first contact that was cut off goes on: what it left says nothing about what lies below it.
    if (this.options.seedAt !== undefined && persona.messages.size === 0) return 'seed'
    return this.#isDamaged && inbox.isFromStart ? 'damaged' : 'first-contact'
  }

  unreadOf(persona: string): number | 'unknown' {
    return this.table === undefined ? 'unknown' : (this.table.get(persona)?.unread ?? 0)
  }

  isUnlisted(persona: string): boolean {
    const entries = this.directory?.entries
    return entries !== undefined && !entries.has(persona)
  }

  /** Puts a request where `next` finds it. */
  ask(body: AskBody): number {
    const id = ++this.#ids
    this.#outbox.push({ ...body, id } as Ask)
    return id
  }

  takeAsks(): readonly Ask[] {
    return this.#outbox.splice(0)
  }

  note(note: CoreNote): void {
    this.#notes.push(note)
  }

  /** Says a lasting condition once when it begins and once when it ends (KS-66). */
  noteChange(code: string, isOn: boolean, begins: CoreNote, ends: CoreNote): void {
    if (isOn === this.#said.has(code)) return
    if (isOn) this.#said.add(code)
    else this.#said.delete(code)
    this.note(isOn ? begins : ends)
  }

  /** One line a name that is no name, up to a hundred (KS-11, KS-13, KS-70). */
  refuse(name: string): void {
    const code = `refused:${name}`
    if (this.#refused > REFUSED_MAX || this.#said.has(code)) return
    this.#said.add(code)
    const isLast = ++this.#refused > REFUSED_MAX
    this.note({
      level: 'warn',
      code: 'persona_refused',
      message: isLast
        ? 'ignored more personas with invalid names; further ones are not logged'
        : 'ignored a persona with an invalid name',
      fields: { name: name.slice(0, 100) },
    })
  }

  #saySeedSpent(persona: string, seedAt: number): void {
    const message = `--seed-at ${seedAt} has no effect any more: the journal is past this id`
    this.note({ level: 'warn', code: 'flag_ignored', persona, message })
  }

  takeNotes(): readonly CoreNote[] {
    return this.#notes.splice(0)
  }
}
