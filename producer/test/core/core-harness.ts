import {
  type Answer,
  type Answered,
  type Ask,
  type Core,
  type CoreOptions,
  createCore,
  type DirectoryEntry,
  type Journal,
  type JournalOptions,
  type Now,
  type Page,
  type PageQuery,
  type PersonaDirectory,
  type RequestFailure,
  type Row,
  type UnreadCounts,
} from '@kim/producer/internal'
import type { Test } from 'tap'
import { type Line, TestStore } from '../kit/store.js'

/** A row, or only its id. */
export type RowLike = number | (Partial<Row> & { readonly id: number })

const rowOf = (like: RowLike): Row => ({
  from: 'loom',
  content: `text ${typeof like === 'number' ? like : like.id}`,
  created: '2026-06-10T14:00:00Z',
  read: false,
  ...(typeof like === 'number' ? { id: like } : like),
})

/** A page that withholds nothing. */
export function whole(rows: readonly RowLike[], more: Partial<Page> = {}): Page {
  const judged = rows.map(rowOf).sort((a, b) => a.id - b.id)
  return {
    rows: judged,
    omitted: 0,
    isExact: true,
    continuation: { kind: 'end' },
    isContradictory: false,
    isClipped: false,
    unreadNotShown: undefined,
    ...more,
  }
}

/** A page that withholds rows older than its own and says where they begin. */
export function cut(rows: readonly RowLike[], more: Partial<Page> = {}): Page {
  const page = whole(rows)
  const beforeId = page.rows[0]?.id ?? 0
  return { ...page, omitted: 1, isExact: false, continuation: { kind: 'more', beforeId }, ...more }
}

/** What a request comes to that brings nothing. */
export function failure(status: number | undefined = 500, token?: RequestFailure['token']): RequestFailure {
  const word = token ?? (status === undefined ? 'unreachable' : (`http ${status}` as const))
  return { token: word, status, reason: word }
}

/** One persona of a directory. */
export function entry(persona: string, more: Partial<DirectoryEntry> = {}): DirectoryEntry {
  return { persona, memoryCount: 3, readCount: 1, isRetired: false, isWriteOnly: false, ...more }
}

/** How many messages of an inbox are unread, and how many of these are urgent; undefined: nothing is said of that. */
type CountLike = number | readonly [unread: number, urgent: number | undefined]

/** What the server answers to one kind of request; `undefined` leaves it hanging. */
export interface Script {
  page: (query: PageQuery) => Page | RequestFailure | undefined
  counts: () => { readonly [persona: string]: CountLike } | RequestFailure | undefined
  directory: () => readonly (string | DirectoryEntry)[] | RequestFailure | undefined
  /** The token the next counts come with. */
  token: string | undefined
  /** How long counts are held, in ms. */
  heldMs: number
}

const isFailure = (value: object): value is RequestFailure => 'token' in value && 'reason' in value

const defaults: CoreOptions = {
  dialect: 'hosted',
  personas: ['argus'],
  waitSeconds: 0,
  pollSeconds: 1,
  alertAfter: 3,
  resyncEvery: 10,
  rediscoverSeconds: 600,
  seedAt: undefined,
  maxReplay: 50,
  keepContent: true,
  suppressedAuthors: [],
  fastPath: false,
  strandedAlerts: true,
  urgentAlerts: true,
  urgentAfterMs: 0,
}

/** A core at work on a real journal, a scripted server and a clock that a test moves. */
export class CoreHarness {
  readonly store: TestStore
  readonly script: Script
  readonly asked: { readonly atMs: number; readonly ask: Ask }[] = []
  readonly hanging: { readonly ask: Ask; readonly sentMs: number }[] = []
  options: CoreOptions
  journalOptions: Partial<JournalOptions> = {}
  core!: Core
  journal!: Journal
  #answers: Answered[] = []
  #seen = 0

  constructor(t: Test, options: Partial<CoreOptions> = {}, script: Partial<Script> = {}) {
    this.store = new TestStore(t)
    this.options = { ...defaults, ...options }
    this.script = {
      page: () => whole([]),
      counts: () => ({}),
      directory: () => ['argus'],
      token: undefined,
      heldMs: 0,
      ...script,
    }
    t.teardown(() => this.journal?.close())
    this.start()
  }

  get now(): Now {
    return { monoMs: this.store.clock.mono, wallMs: this.store.clock.wall }
  }

  /** A process begins, on the journal as it is. */
  start(options: Partial<CoreOptions> = {}): this {
    this.options = { ...this.options, ...options }
    this.journal = this.store.open(this.journalOptions)
    this.core = createCore(this.options, this.journal)
    this.hanging.length = 0
    this.#answers = []
    return this
  }

  /** A process begins on a history that is not what it was. */
  startOn(history: Pick<Journal['history'], 'isWhole' | 'holes'>): this {
    this.core = createCore(this.options, { state: this.journal.state, history })
    return this
  }

  /** The process ends and another begins. */
  restart(options: Partial<CoreOptions> = {}): this {
    this.journal.close()
    return this.start(options)
  }

  /** Turns until nothing is left to do at this instant. */
  settle(): this {
    for (let n = 0; n < 500; n++) {
      for (const answered of this.#answers.splice(0)) this.core.answered(answered, this.now)
      for (let commits = 0; ; commits++) {
        const commit = this.core.commit(this.now)
        if (commit === undefined) break
        if (commits === 200) throw new Error('it commits and commits and is never done')
        this.journal.append(commit.drafts)
        this.core.committed('durable', this.now)
      }
      const { asks, wakeAtMs } = this.core.next(this.now)
      for (const ask of asks) this.#ask(ask)
      const isBusy = wakeAtMs !== undefined && wakeAtMs <= this.now.monoMs
      if (this.#answers.length === 0 && !isBusy) return this
    }
    throw new Error('it never comes to rest')
  }

  /** Time passes, and every turn that is due in it is taken. */
  pass(ms: number): this {
    const untilMs = this.now.monoMs + ms
    for (;;) {
      this.settle()
      const { wakeAtMs } = this.core.next(this.now)
      const nextMs = Math.min(wakeAtMs ?? Number.POSITIVE_INFINITY, untilMs)
      if (nextMs <= this.now.monoMs || this.now.monoMs >= untilMs) break
      this.#advance(nextMs - this.now.monoMs)
    }
    this.#advance(Math.max(0, untilMs - this.now.monoMs))
    return this.settle()
  }

  #advance(ms: number): void {
    this.store.clock.mono += ms
    this.store.clock.wall += ms
  }

  #ask(ask: Ask): void {
    this.asked.push({ atMs: this.now.monoMs, ask })
    if (!this.#answer(ask, this.now.monoMs)) this.hanging.push({ ask, sentMs: this.now.monoMs })
  }

  /** What hangs is answered by the script as it is now. */
  release(): this {
    for (const { ask, sentMs } of this.hanging.splice(0)) this.#answer(ask, sentMs)
    return this.settle()
  }

  #answer(ask: Ask, sentMs: number): boolean {
    if (ask.kind === 'page') {
      const value = this.script.page(ask.query)
      if (value === undefined) return false
      this.#answers.push({ kind: 'page', id: ask.id, answer: this.#wrap<Page>(value, sentMs) })
    } else if (ask.kind === 'counts') {
      const value = this.script.counts()
      if (value === undefined) return false
      const counts = isFailure(value) ? value : countsOf(value as Record<string, number>, this.script.token)
      const heldMs = isFailure(value) ? 0 : this.script.heldMs
      this.#answers.push({
        kind: 'counts',
        id: ask.id,
        answer: this.#wrap<UnreadCounts>(counts, sentMs - heldMs),
      })
    } else {
      const value = this.script.directory()
      if (value === undefined) return false
      const list = isFailure(value) ? value : directoryOf(value as readonly (string | DirectoryEntry)[])
      this.#answers.push({
        kind: 'directory',
        id: ask.id,
        answer: this.#wrap<PersonaDirectory>(list, sentMs),
      })
    }
    return true
  }

  #wrap<T extends object>(value: T | RequestFailure, sentMs: number): Answer<T> {
    const receivedMs = this.now.monoMs
    return isFailure(value)
      ? { ok: false, failure: value, sentMs, receivedMs }
      : { ok: true, value, sentMs, receivedMs }
  }

  /** Every record that the core had appended, oldest first; notes of the journal itself left out. */
  records(): Line[] {
    return this.store
      .lines()
      .filter(({ item_type, item_id }) => item_type !== 'journal' || item_id === 'registry_genesis')
  }

  /** What happened since this was last asked, in short. */
  story(): string[] {
    const all = this.records()
    const fresh = all.slice(this.#seen)
    this.#seen = all.length
    return fresh.map(shortOf)
  }

  /** The requests for pages of one persona so far, by the id below which they asked. */
  pages(persona = 'argus'): (number | 'newest')[] {
    return this.asked.flatMap(({ ask }) =>
      ask.kind === 'page' && ask.query.persona === persona ? [ask.query.beforeId ?? ('newest' as const)] : [],
    )
  }

  /** The newest payload of an entity. */
  payload(type: string, id: string): Readonly<Record<string, unknown>> | undefined {
    return this.records().findLast(({ item_type, item_id }) => item_type === type && item_id === id)?.payload
  }
}

function countsOf(table: Readonly<Record<string, CountLike>>, cursor?: string): UnreadCounts {
  const byPersona = new Map(
    Object.entries(table).map(([persona, count]) => {
      const [unread, unreadUrgent] = typeof count === 'number' ? [count, 0] : count
      return [persona, { unread, unreadUrgent }] as const
    }),
  )
  return { byPersona, cursor, refused: [] }
}

function directoryOf(list: readonly (string | DirectoryEntry)[]): PersonaDirectory {
  return { entries: list.map(one => (typeof one === 'string' ? entry(one) : one)), refused: [] }
}

/** `new 5`, `backfill 5`, `silent 5`, `read 5`, `armed 9`, `alert bounded-window`, `cleared unreachable` … */
function shortOf({ action, item_type, item_id, event, payload }: Line): string {
  const id = item_id.slice(item_id.lastIndexOf('/') + 1)
  const whose = payload?.['persona'] === 'argus' || item_type === 'journal' ? '' : `${payload?.['persona']}: `
  if (item_type === 'journal') return `genesis ${payload?.['mode']}`
  if (item_type === 'message') {
    if (action === 'update') return `${whose}update ${id}`
    return `${whose}${event ?? (action === 'backfill' ? 'backfill' : 'silent')} ${id}`
  }
  if (item_type === 'alert') {
    if (payload?.['status'] === 'cleared') return `${whose}${event ?? 'cleared'} ${id}`
    return `${whose}${event ?? 'update'} ${id}`
  }
  if (event === 'armed') return `${whose}armed ${payload?.['cursor']}`
  return `${whose}${event ?? 'persona'}`
}
