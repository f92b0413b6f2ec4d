/// <reference lib="es2024.string" />
/** What the parts of the core share: what the journal says, which inboxes are watched, what the server counted. */
import { shellWord } from '@kim/cli-kit'
import { KimError, registryOfAllCapability } from '@kim/manifest'
import type { WriterState } from '../journal/entity-reader.js'
import type { OpenHistory } from '../journal/open.js'
import type { Persona, Personas } from '../journal/persona.js'
import type { UnreadCounts } from '../source/source.js'
import type { Ask, CoreNote, CoreOptions } from './core.js'
import { Inbox } from './inbox-schedule.js'
import { DirectoryWatch } from './persona-directory.js'
import type { Arrival } from './poll-pages.js'

/** What the core needs of an open journal. */
export interface CoreJournal {
  readonly state: Pick<WriterState, 'personas' | 'capabilities'>
  readonly history: Pick<OpenHistory, 'isWhole' | 'holes'>
}

/** The counts of the account; undefined while they are not available. */
export type CountsTable = UnreadCounts['byPersona'] | undefined

/** So many names that are none are logged in the life of a process. */
const REFUSED_MAX = 100

/** What may be asked, before it has a number. */
type AskBody = Ask extends infer One ? (One extends Ask ? Omit<One, 'id'> : never) : never

export class CoreState {
  readonly options: CoreOptions
  readonly suppressed: ReadonlySet<string>
  readonly capabilities: ReadonlySet<string>
  readonly personas: Personas
  readonly inboxes: Map<string, Inbox> = new Map()
  readonly directory: DirectoryWatch | undefined
  readonly mode: 'all' | 'list'
  /** Of a list: inboxes without a message on the server or in the journal, so that they may not exist. */
  readonly unproven: Set<string> = new Set()
  table: CountsTable
  /** Equal counts may hide mail that came in: no token would show it (KS-54). */
  hasPlainCounts: boolean
  /** An answer for counts came in, whatever it was. */
  hasHeardCounts = false
  /** Personas about which something may have to be recorded. */
  readonly dirty: Set<string> = new Set()
  /** The two account-wide alerts may have changed. */
  areAlertsDirty = true
  isGenesisDirty = true
  /** The newest record when this process began. */
  readonly #startSeq: number
  readonly #hadRecords: boolean
  readonly #isDamaged: boolean
  readonly #asks: Ask[] = []
  readonly #notes: CoreNote[] = []
  /** Lasting conditions that were logged and did not end yet. */
  readonly #said: Set<string> = new Set()
  #refused = 0
  #ids = 0
  #isStarted = false

  constructor(options: CoreOptions, { history, state }: CoreJournal) {
    this.options = options
    this.hasPlainCounts = options.dialect === 'local'
    this.suppressed = new Set(options.suppressedAuthors)
    this.capabilities = state.capabilities
    this.personas = state.personas
    this.#startSeq = this.personas.headSeq
    this.mode = options.personas === undefined ? 'all' : 'list'
    this.directory = this.mode === 'all' ? new DirectoryWatch(this) : undefined
    this.#isDamaged = !history.isWhole || history.holes.length > 0
    this.#hadRecords = [...this.personas].some(({ record }) => record !== undefined)
    const [seeded] = options.personas ?? []
    if (options.seedAt !== undefined && seeded !== undefined) this.#checkSeed(seeded, options.seedAt)
  }

  /** Some persona had a record when this process began, or was armed since. */
  get hasArmed(): boolean {
    return this.#hadRecords || [...this.inboxes.values()].some(({ isArmed }) => isArmed)
  }

  /** The personas known from the start: those of the list, or those of the journal that were watched. */
  start(nowMs: number): void {
    if (this.#isStarted) return
    this.#isStarted = true
    const known = [...this.personas].flatMap(({ name, record }) => (record?.watched === true ? [name] : []))
    if (this.options.personas === undefined) for (const name of known) this.watch(name, nowMs, true)
    else {
      // Trimmed, without blanks and exact repeats (KS-67).
      const names = new Set(this.options.personas.map(name => name.trim()).filter(name => name !== ''))
      for (const name of names) {
        if (name.isWellFormed()) this.watch(name, nowMs, true)
        else this.refuse(name.toWellFormed())
      }
      for (const name of known) if (!this.inboxes.has(name)) this.dirty.add(name)
    }
  }

  /** Watches an inbox from now on; does nothing if it is watched. */
  watch(name: string, nowMs: number, isFromStart: boolean): void {
    if (this.inboxes.has(name)) return
    const persona = this.personas.take(name)
    const isAdded =
      this.mode === 'all' &&
      persona.record === undefined &&
      // One that failed until it was announced as missing left its alert behind.
      !persona.alerts.has('unreachable') &&
      this.capabilities.has(registryOfAllCapability) &&
      !(this.#isDamaged && isFromStart)
    const place = { rank: this.inboxes.size, nowMs, isFromStart, isAdded, startSeq: this.#startSeq }
    this.inboxes.set(name, new Inbox(persona, place))
    this.isGenesisDirty = true
    this.dirty.add(name)
  }

  /** How a persona comes in with its next poll (section 6). */
  arrivalOf({ isAdded, isFromStart, persona }: Inbox): Arrival {
    if (persona.record !== undefined || isAdded) return 'known'
    // A first contact that was cut off goes on: what it left says nothing about what lies below it.
    if (this.options.seedAt !== undefined && persona.messages.size === 0) return 'seed'
    return this.#isDamaged && isFromStart ? 'damaged' : 'first-contact'
  }

  /** The unread mail that the counts give a persona now; `unknown` if there are none. */
  unreadOf(persona: string): number | 'unknown' {
    return this.table === undefined ? 'unknown' : (this.table.get(persona)?.unread ?? 0)
  }

  /** True if all personas are watched and the directory does not list this one (KS-62). */
  isUnlisted(persona: string): boolean {
    return this.directory?.entries?.has(persona) === false
  }

  /** Puts a request where `next` finds it. */
  ask(body: AskBody): number {
    const id = ++this.#ids
    this.#asks.push({ ...body, id } as Ask)
    return id
  }

  takeAsks(): readonly Ask[] {
    return this.#asks.splice(0)
  }

  note(note: CoreNote): void {
    this.#notes.push(note)
  }

  takeNotes(): readonly CoreNote[] {
    return this.#notes.splice(0)
  }

  /** Logs a lasting condition once when it begins and once when it ends (KS-66). */
  noteChange(code: string, isOn: boolean, begins: CoreNote, ends: CoreNote): void {
    if (isOn === this.#said.has(code)) return
    if (isOn) this.#said.add(code)
    else this.#said.delete(code)
    this.note(isOn ? begins : ends)
  }

  /** One line for each invalid name, up to a hundred (KS-11, KS-13, KS-70). */
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

  /** A seed that the record keeps already, with everything known above it, has no effect any more (KS-35). */
  #checkSeed(name: string, seedAt: number): void {
    const persona = this.personas.find(name.trim())
    if (persona?.record === undefined) return
    if (persona.record.seeded !== seedAt) assertSeed(persona, seedAt)
    else if (seedAt <= persona.watermark) {
      const message = `--seed-at ${seedAt} has no effect any more: the journal is past this id`
      this.note({ level: 'warn', code: 'flag_ignored', persona: name, message })
    }
  }
}

/** Refuses a seed that would take back what is in the journal already (KS-35). */
function assertSeed({ isCountOwed, name, record, watermark }: Persona, seedAt: number): void {
  if (isCountOwed) {
    throw new KimError(
      'config_invalid',
      `cannot apply --seed-at: the producer has not finished the first poll or the replay cap of ${name}`,
      {
        hint: `start without --seed-at and let the first poll of ${name} finish (kim-producer status no longer says "a gap is being filled"); then stop and use --seed-at`,
      },
    )
  }
  const told = Math.max(watermark, record?.seeded ?? 0)
  if (seedAt > told) return
  throw new KimError(
    'config_invalid',
    `cannot apply --seed-at ${seedAt}: for ${name}, mail up to message ${told} is already recorded or covered by an earlier seed`,
    {
      hint: `leave out --seed-at; to print the mail after that id: kim-tail --persona ${shellWord(name)} --after-id ${seedAt} (with the same --store)`,
    },
  )
}
