import { isPinOfAnOpen, type NaiveRecord } from '../../kit/index.js'
import { expect } from '../violation.js'
import type { Mail } from './server.js'

type Payload = Readonly<Record<string, unknown>>

interface Standing {
  read: boolean
  isLive: boolean
  content: unknown
}

/**
 * What the records of one persona say, one after the other, held against what the server knows: every prefix has to be
 * a true journal. It shares nothing with the core.
 *
 * The disk may lose the middle of a commit. What survives behind it in that commit is taken as it is, but for a message
 * that comes twice; the first record of the persona after that commit has to make the journal true again.
 */
export class InboxWitness {
  readonly name: string
  readonly #mail: ReadonlyMap<number, Mail>
  readonly #ids: readonly number[]
  readonly #suppressed: ReadonlySet<string>
  readonly standing: Map<number, Standing> = new Map()
  persona: Payload | undefined
  readonly #alerts: Map<string, Payload> = new Map()
  readonly #armedBy: Set<string> = new Set()
  readonly #said: Set<string> = new Set()
  #capBase = 0
  /** From where on first contact took over what it found. */
  #metFloor = 0
  #top = 0
  #isTorn = false
  /** The open pin was set for mail that the disk may have lost. */
  #isLossPinned = false
  /** The highest cursor of a record that survived a loss: it may name a message that did not (KS-37). */
  #lostCursor = 0

  constructor(name: string, mail: readonly Mail[], suppressed: ReadonlySet<string>) {
    this.name = name
    this.#mail = new Map(mail.map(one => [one.id, one]))
    this.#ids = mail.map(({ id }) => id)
    this.#suppressed = suppressed
  }

  /** `isTorn`: records of its commit are lost before it. */
  see(record: NaiveRecord, isTorn = false): void {
    this.#isTorn = isTorn
    const payload = (record.raw['payload'] ?? {}) as Payload
    if (record.item_type === 'message') this.#message(record, payload)
    else if (record.item_type === 'persona') this.#persona(record, payload)
    else if (record.item_type === 'alert') this.#alert(record, payload)
  }

  /** What holds for every record. */
  #always(condition: boolean, record: NaiveRecord, what: string): void {
    expect(condition, () => `seq ${record.seq}, ${record.action} ${record.item_id}: ${what}`)
  }

  /** What holds where nothing is lost before the record. */
  #must(condition: boolean, record: NaiveRecord, what: string): void {
    expect(condition || this.#isTorn, () => `seq ${record.seq}, ${record.action} ${record.item_id}: ${what}`)
  }

  #message(record: NaiveRecord, payload: Payload): void {
    const id = Number(record.item_id.slice(record.item_id.lastIndexOf('/') + 1))
    const mail = this.#mail.get(id)
    const event = record.raw['event']
    const before = this.standing.get(id)
    this.#always(mail !== undefined, record, 'no such mail')
    if (mail === undefined) return
    if (record.action === 'delete') {
      this.#always(before?.isLive === true && before.read, record, 'took away what was not read')
      if (before !== undefined) before.isLive = false
      return
    }
    if (record.action === 'update') {
      this.#always(before?.isLive === true, record, 'an update of what is not live')
      this.#must(event === undefined, record, 'an update that wakes')
      this.#must(payload['read'] === true || before?.read === false, record, 'unread again')
    } else {
      this.#always(before === undefined, record, 'a second time')
      this.#must((record.action === 'backfill') === (this.persona === undefined), record, 'backfill or not')
      const silent =
        record.action === 'backfill' || id <= this.#number('silent_to') || this.#suppressed.has(mail.from)
      this.#must((event === 'new') === !silent, record, silent ? 'wakes' : 'is not announced')
    }
    this.#must(payload['read'] !== true || mail.read, record, 'read, and it was not')
    this.standing.set(id, { read: payload['read'] === true, isLive: true, content: payload['content'] })
    const from = this.#top
    this.#top = Math.max(this.#top, id)
    if (this.persona !== undefined) this.#whole(record, from)
  }

  #number(member: string): number {
    return Number(this.persona?.[member] ?? 0)
  }

  /** Every id from the floor to the highest that stands is in the journal, or in a hole that a pin declares (KS-28). */
  #whole(record: NaiveRecord, above = 0): void {
    const floor = this.#number('floor')
    const holes = this.#holes()
    for (const id of this.#ids) {
      if (id <= above || id < floor || id > this.#top || this.standing.has(id)) continue
      this.#must(
        holes.some(([from, to]) => id > from && id < to),
        record,
        `${id} is missing below ${this.#top}, and no pin says so`,
      )
    }
  }

  #holes(): (readonly [number, number])[] {
    const pin = this.#alerts.get('bounded-window')
    if (pin?.['status'] !== 'open') return []
    const walk = pin['walk'] as { proven_down_to: number; later?: [number, number][] }
    return [[Number(pin['cursor_at']), walk.proven_down_to], ...(walk.later ?? [])]
  }

  #persona(record: NaiveRecord, payload: Payload): void {
    const event = record.raw['event']
    const before = this.persona
    const silentTo = payload['silent_to']
    if (this.#isTorn) this.#lostCursor = Math.max(this.#lostCursor, Number(payload['cursor']))
    this.#must(
      Number(payload['cursor']) <= Math.max(this.#top, this.#lostCursor),
      record,
      `cursor ${String(payload['cursor'])} above ${this.#top}`,
    )
    this.#must((record.action === 'create') === (before === undefined), record, 'create or update')
    this.#must(
      silentTo !== undefined ||
        before?.['silent_to'] === undefined ||
        before['silent_to'] === before['cursor'],
      record,
      'what silences is gone before the walk of a first contact could close',
    )
    if (silentTo !== before?.['silent_to'] && silentTo !== payload['seeded']) {
      this.#capBase = Math.max(Number(payload['cursor']), Number(payload['seeded'] ?? 0))
    }
    if (before === undefined) this.#metFloor = Number(payload['floor'])
    this.persona = payload
    if (event === 'baseline_skipped') this.#baseline(record, payload, before)
    if (event === 'armed') {
      this.#must(!this.#armedBy.has(record.writer), record, 'armed twice in one life')
      this.#armedBy.add(record.writer)
    } else if (event !== undefined && event !== 'replay_capped') {
      const said = event === 'seed_ahead' ? `seed_ahead ${String(payload['seeded'])}` : String(event)
      this.#must(!this.#said.has(said), record, `${said} a second time`)
      this.#said.add(said)
    }
    if (event === 'replay_capped') {
      const to = Number(payload['capped_to'])
      // What lies below the floor is never fetched, also not for a persona that was armed below its window (KS-22, KS-38).
      const floor = this.#number('floor')
      const capped = this.#ids.filter(id => id > this.#capBase && id >= floor && id <= to)
      this.#must(
        to === silentTo && before?.['capped_to'] !== to,
        record,
        'a cap that is not the one that silences',
      )
      this.#must(
        payload['dropped'] === capped.length,
        record,
        `${String(payload['dropped'])} dropped, in truth ${capped.length}`,
      )
      this.#must(
        this.#holes().length === 0 || capped.every(id => this.standing.has(id)),
        record,
        'announced before all of it stands',
      )
    }
    this.#whole(record)
  }

  /**
   * What a first contact passed over: all mail from its floor on, however often it was cut off (KS-31, KS-94). Mail that
   * the disk lost is news and not counted (KS-28), unless a walk of the first contact was open: it silences that too.
   */
  #baseline(
    record: NaiveRecord,
    { armed_at, skipped, id_range }: Payload,
    before: Payload | undefined,
  ): void {
    const isWalked = before?.['silent_to'] !== undefined && before['silent_to'] === before['cursor']
    const holes = this.#isLossPinned && !isWalked ? this.#holes() : []
    const isLost = (id: number): boolean =>
      !this.standing.has(id) && holes.some(([from, to]) => id > from && id < to)
    const ids = this.#ids.filter(id => id >= this.#metFloor && id <= Number(armed_at) && !isLost(id))
    this.#must(
      skipped === ids.length && JSON.stringify(id_range) === JSON.stringify([ids[0], ids.at(-1)]),
      record,
      `${String(skipped)} skipped in ${JSON.stringify(id_range)}, in truth ${ids.length} from ${ids[0]} to ${ids.at(-1)}`,
    )
    this.#must(
      ids.every(id => this.standing.has(id)),
      record,
      'announced before all of it stands',
    )
  }

  #alert(record: NaiveRecord, payload: Payload): void {
    const kind = String(payload['kind'])
    const before = this.#alerts.get(kind)
    const event = record.raw['event']
    this.#must((record.action === 'create') === (before === undefined), record, 'create or update')
    const wasOpen = before?.['status'] === 'open'
    // A pin for mail that the disk may have lost begins its walk again, and says so.
    const isRepeatable = kind === 'stranded-mail' || kind === 'urgent-unanswered' || isPinOfAnOpen(record)
    if (payload['status'] === 'open' && !isRepeatable) {
      this.#must((event === 'alert') === !wasOpen, record, wasOpen ? 'announced again' : 'opened unannounced')
    }
    if (payload['status'] === 'cleared') this.#must(wasOpen, record, 'cleared, and it was not open')
    this.#alerts.set(kind, payload)
    if (kind === 'bounded-window')
      this.#isLossPinned = payload['status'] === 'open' && (this.#isLossPinned || isPinOfAnOpen(record))
    // A first contact owes nothing before its record.
    if (kind === 'bounded-window' && this.persona !== undefined) this.#whole(record)
  }

  /** After everything went well for long enough, everything is in and nothing is owed. */
  isDone(terms: {
    readonly comparesRead: boolean
    readonly shown: readonly Mail[]
    readonly keepContent: boolean
  }): void {
    const { name } = this
    expect(this.persona !== undefined, () => `${name} never came in`)
    const floor = this.#number('floor')
    for (const id of this.#ids) {
      expect(id < floor || this.standing.has(id), () => `${name}/${id} never came in`)
    }
    const { silent_to: silentTo, seeded, capped_to: cappedTo } = this.persona ?? {}
    expect(
      silentTo === undefined || silentTo === seeded || silentTo === cappedTo,
      () => `${name}: a cap unannounced`,
    )
    for (const kind of ['bounded-window', 'unreachable']) {
      expect(this.#alerts.get(kind)?.['status'] !== 'open', () => `${name}: ${kind} is still open`)
    }
    // Mail from before the floor is counted too, and hides as many that were read (KS-58).
    const unread = [...this.standing.values()].filter(({ read, isLive }) => isLive && !read).length
    const counted = [...this.#mail.values()].filter(({ read }) => !read).length
    expect(!terms.comparesRead || unread <= counted, () => `${name}: ${unread} unread, in truth ${counted}`)
    for (const { id, content } of terms.shown) {
      const stored = this.standing.get(id)
      // A body that was kept out of the store, or came clipped, is never replaced.
      const isCompared =
        terms.keepContent && stored?.isLive === true && String(stored.content ?? '').length > 2
      expect(
        !isCompared || stored.content === content,
        () => `${name}/${id}: ${String(stored?.content)}, in truth ${content}`,
      )
    }
  }
}
