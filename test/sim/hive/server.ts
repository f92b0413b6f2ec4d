import type {
  Answer,
  Ask,
  Page,
  PersonaDirectory,
  RequestFailure,
  Row,
  UnreadCounts,
} from '@kim/producer/internal'
import type { Prng } from '../../kit/index.js'

/** A message as the simulated server holds it. */
export interface Mail {
  readonly id: number
  readonly to: string
  readonly from: string
  content: string
  read: boolean
  readonly urgent: boolean
}

/** What a server is, where no chance decides it. */
export interface ServerKind {
  readonly dialect: 'local' | 'hosted'
  /** `stuck`: a token that mail does not change. */
  readonly token: 'moves' | 'stuck' | 'none'
}

const isFailure = (value: object): value is RequestFailure => 'token' in value && 'reason' in value

/** A body of which some eighty fill a commit, by the bound that its room is measured with. */
const bulk = ' and so on'.repeat(195)

/**
 * A Kijito server as far as the core can see one: inboxes behind pages of a few rows, counts with a token, a
 * directory. It may fail and it may contradict itself, but what it calls complete is complete.
 */
export class Server {
  readonly mail: Mail[] = []
  readonly personas: string[]
  readonly perPage: number
  readonly dialect: 'local' | 'hosted'
  /** How often a page goes wrong, per persona. */
  readonly trouble: Map<string, number> = new Map()
  isCountsDown = false
  isDirectoryDown = false
  /** Nobody waits long for an answer. */
  isPrompt = false
  readonly #random: Prng
  readonly #isBulky: boolean
  readonly #tokenKind: ServerKind['token']
  #nextId = 1

  constructor(random: Prng, personas: readonly string[], isBulky = false, kind?: ServerKind) {
    this.#random = random
    this.#isBulky = isBulky
    this.personas = [...personas]
    this.dialect = kind?.dialect ?? (random.chance(0.15) ? 'local' : 'hosted')
    this.#tokenKind = kind?.token ?? (this.dialect === 'hosted' ? 'moves' : 'none')
    const perPage = random.between(1, 6)
    this.perPage = this.dialect === 'local' ? Number.POSITIVE_INFINITY : isBulky ? perPage * 40 : perPage
  }

  inbox(persona: string): readonly Mail[] {
    return this.mail.filter(({ to }) => to === persona)
  }

  /** The highest id that was given out. */
  get highest(): number {
    return this.#nextId
  }

  send(to: string, from: string): void {
    const random = this.#random
    // Other inboxes take ids too.
    this.#nextId += random.chance(0.4) ? random.between(1, 9) : 1
    const id = this.#nextId
    const urgent = random.chance(0.1)
    const read = random.chance(this.#isBulky ? 0.9 : 0.1)
    this.mail.push({ id, to, from, content: `text ${id}${this.#isBulky ? bulk : ''}`, read, urgent })
  }

  calm(): void {
    this.trouble.clear()
    this.isCountsDown = false
    this.isDirectoryDown = false
    this.isPrompt = true
  }

  /** What the token stands for: mail that came in, not what was read of it. */
  get token(): string {
    if (this.#tokenKind === 'stuck') return 'c'
    return `c${this.mail.at(-1)?.id ?? 0}`
  }

  answer(
    ask: Ask,
    sentMs: number,
    receivedMs: number,
  ): Answer<Page> | Answer<UnreadCounts> | Answer<PersonaDirectory> {
    const value =
      ask.kind === 'page' ? this.#page(ask.query) : ask.kind === 'counts' ? this.#counts() : this.#directory()
    return isFailure(value)
      ? { ok: false, failure: value, sentMs, receivedMs }
      : ({ ok: true, value, sentMs, receivedMs } as Answer<Page>)
  }

  #failure(status: number): RequestFailure {
    return { token: `http ${status}`, status, reason: `http ${status}` }
  }

  #page(query: Extract<Ask, { kind: 'page' }>['query']): Page | RequestFailure {
    const { persona, beforeId, unreadOnly } = query
    const random = this.#random
    const isTroubled = random.chance(this.trouble.get(persona) ?? 0)
    const fitting = this.inbox(persona).filter(
      ({ id, read }) => (beforeId === undefined || id < beforeId) && (unreadOnly !== true || !read),
    )
    const shown = fitting.slice(-Math.min(this.perPage, fitting.length || 1))
    const page = this.#judged(shown, fitting.length - shown.length)
    if (!isTroubled) return page
    const lowest = page.rows[0]?.id ?? 0
    const withheld = { omitted: Math.max(1, page.omitted), isExact: false }
    const fault = random.int(this.dialect === 'local' ? 1 : 5)
    // A page in doubt withholds something: the source refuses a newest page that has no rows then (KS-21).
    if (page.rows.length === 0 && beforeId === undefined && [1, 2, 3].includes(fault)) {
      return { token: 'shape-invalid', status: undefined, reason: 'shape-invalid' }
    }
    switch (fault) {
      case 0:
        return this.#failure(random.pick([500, 502, 404, 401]))
      case 1:
        return { ...page, ...withheld, continuation: { kind: 'unreadable' } }
      case 2:
        return { ...page, ...withheld, continuation: { kind: 'end' }, isContradictory: true }
      case 3:
        // It skips, and says so by where it goes on.
        return { ...page, ...withheld, continuation: { kind: 'more', beforeId: Math.max(0, lowest - 1) } }
      default:
        return { ...this.#judged(fitting.slice(-1), Math.max(0, fitting.length - 1)), unreadNotShown: 1 }
    }
  }

  #judged(shown: readonly Mail[], omitted: number): Page {
    const rows: Row[] = shown.map(({ id, from, content, read }) => ({
      id,
      from,
      content,
      created: null,
      read,
    }))
    const isClipped = this.dialect === 'hosted' && rows.length === 1 && this.#random.chance(0.1)
    const clipped = isClipped ? rows.map(row => ({ ...row, content: row.content.slice(0, 2) })) : rows
    return {
      rows: clipped,
      omitted,
      isExact: this.#random.chance(0.5),
      continuation: omitted > 0 ? { kind: 'more', beforeId: rows[0]?.id ?? 0 } : { kind: 'end' },
      isContradictory: false,
      isClipped,
      unreadNotShown: this.dialect === 'hosted' ? 0 : undefined,
    }
  }

  #counts(): UnreadCounts | RequestFailure {
    if (this.isCountsDown) return this.#failure(502)
    const byPersona = new Map<string, { unread: number; unreadUrgent: number }>()
    for (const { to, read, urgent } of this.mail) {
      if (read) continue
      const { unread, unreadUrgent } = byPersona.get(to) ?? { unread: 0, unreadUrgent: 0 }
      byPersona.set(to, { unread: unread + 1, unreadUrgent: unreadUrgent + (urgent ? 1 : 0) })
    }
    return { byPersona, cursor: this.#tokenKind === 'none' ? undefined : this.token, refused: [] }
  }

  #directory(): PersonaDirectory | RequestFailure {
    if (this.isDirectoryDown) return this.#failure(500)
    const entries = this.personas.map(persona => ({
      ...{ persona, memoryCount: 1, readCount: 1, isRetired: false, isWriteOnly: false },
    }))
    return { entries, refused: [] }
  }
}
