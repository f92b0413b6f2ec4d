/** When alerts are opened and cleared: those about a window of one inbox, and those about the account as a whole. */
import { type AccountAlertKind, actionClasses, type JsonObject } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import { alertDraft, clearedAlert, type Persona } from '../journal/persona.js'
import type { DirectoryEntry, Page } from '../source/source.js'
import type { CoreState } from './core.js'
import { pinOf } from './holes.js'
import type { HealthyPoll } from './poll-pages.js'

/** KS-62: unread mail that the newest page does not show. The pages of a walk are never asked for it. */
export function* unreadNotShown(
  core: CoreState,
  persona: Persona,
  { rows, unreadNotShown: hidden }: Page,
  knownTo: number,
): Generator<Draft> {
  if (hidden === undefined || hidden === 0) return
  if (persona.openAlert('unread-not-shown') !== undefined || core.isUnlisted(persona.name)) return
  const floor = rows[0]?.id
  yield alertDraft(persona, 'unread-not-shown', {
    status: 'open',
    reason: `unread-not-shown: the server counts ${hidden} unread ${hidden === 1 ? 'message' : 'messages'} that it does not show, so the producer cannot record them; new mail is recorded. This ends when the persona reads its mail at the server`,
    members: {
      unread_not_shown: hidden,
      window_floor: floor ?? null,
      cursor_at: knownTo,
      above_watermark: floor === undefined ? null : floor > knownTo,
    },
    event: 'alert',
  })
}

/**
 * KS-39: ids that come back lower than the watermark, be it all of them or some beside the highest. What they bring
 * never comes in, as the ids of a journal ascend.
 */
export function* idRegressed(persona: Persona, poll: HealthyPoll): Generator<Draft> {
  const { window, watermark, wasArmed } = poll
  const highest = window.rows.at(-1)?.id
  if (!wasArmed || highest === undefined || persona.openAlert('id-regressed') !== undefined) return
  const lower = lowerIds(persona, poll)
  if (highest >= watermark && lower.length === 0) return
  const shown =
    highest < watermark
      ? `the server's newest message is ${highest}, but the journal has message ${watermark}`
      : `the server shows ${lower.length} messages up to ${lower.at(-1)} that the journal does not have, although it has mail up to ${watermark}`
  yield alertDraft(persona, 'id-regressed', {
    status: 'open',
    reason: `id-regressed: ${shown}: new mail up to message ${watermark} is not recorded or announced`,
    members: { current_max: highest, cursor_at: watermark },
    event: 'alert',
  })
}

/** Ids of the newest page that are not above what is known, and that the journal never had; ascending. */
function lowerIds(persona: Persona, { window, reach }: HealthyPoll): readonly number[] {
  // What lies below the floor was there before this inbox was watched.
  const floor = persona.record?.floor ?? 0
  const ids = window.rows.map(({ id }) => id)
  return ids.filter(id => id >= floor && id <= reach && !persona.hasHad(id))
}

/** Alerts that the newest page of an inbox clears (step 10 of KS-46). */
export function* windowAlertsCleared(persona: Persona, poll: HealthyPoll): Generator<Draft> {
  const { window, watermark } = poll
  const highest = window.rows.at(-1)?.id
  if (isJustifiedZero(window)) yield* clearedAlert(persona, 'unread-not-shown')
  if (highest !== undefined && highest >= watermark && lowerIds(persona, poll).length === 0) {
    yield* clearedAlert(persona, 'id-regressed')
  }
}

/** A zero counts if it was worked out, or if nothing is withheld that could hide anything. */
function isJustifiedZero({ unreadNotShown: hidden, continuation, omitted, isContradictory }: Page): boolean {
  if (hidden !== 0 || isContradictory) return false
  return continuation.kind === 'more' || omitted === 0
}

/** So many names, each so long, are in a sentence; the members of the alert hold them all. */
const NAMES_MAX = 5
const NAME_UNITS_MAX = 80

/** What an account-wide alert says, with the names that it is about (KS-91), each with what `say` makes of it. */
export function accountReason(
  kind: AccountAlertKind,
  names: readonly string[],
  say: (name: string) => string = shortened,
): string {
  const isOne = names.length === 1
  const whose = listOf(names, say)
  if (kind === 'urgent-unanswered') {
    return `${kind}: ${whose} ${isOne ? 'has' : 'have'} unread urgent mail and ${isOne ? 'has' : 'have'} written no message since it came`
  }
  return `${kind}: ${whose} ${isOne ? 'has' : 'have'} unread mail, but no agent seems to read it`
}

/** What its end says. */
export function accountEnd(kind: AccountAlertKind, names: readonly string[]): string {
  return names.length === 0 ? `${kind}: ended` : `${kind}: ended for ${listOf(names)}`
}

/** `a`, `a and b`, `a, b, c, d, e and 3 more`. */
export function listOf(names: readonly string[], say: (name: string) => string = shortened): string {
  const shown = names.slice(0, NAMES_MAX).map(say)
  const more = names.length - shown.length
  const last = more > 0 ? `${more} more` : shown.pop()
  return [shown.join(', '), last].filter(Boolean).join(' and ')
}

function shortened(name: string): string {
  // By code points: half of a pair is no text.
  const points = [...name]
  return points.length <= NAME_UNITS_MAX ? name : `${points.slice(0, NAME_UNITS_MAX).join('')}…`
}

/** The names that the payload of an account-wide alert lists. */
export function namesIn(payload: JsonObject, kind: AccountAlertKind): readonly unknown[] {
  const list = payload[actionClasses.alert_kinds[kind].names_in]
  return Array.isArray(list) ? list : []
}

/** The tier of an inbox with unread mail by what the directory says of it (KS-63); names are matched in exact case. */
function tierOf(entry: DirectoryEntry | undefined): 'stranded' | 'dormant' | 'fine' {
  if (entry === undefined) return 'stranded'
  const { readCount, memoryCount, isRetired, isWriteOnly } = entry
  if (isWriteOnly) return 'dormant'
  if (readCount === undefined) return memoryCount === 0 ? 'stranded' : 'fine'
  if (readCount > 0) return 'fine'
  return isRetired ? 'stranded' : 'dormant'
}

/** Why an inbox is stranded, in words. */
function whyStranded(name: string, directory: ReadonlyMap<string, DirectoryEntry>): string {
  const entry = directory.get(name)
  if (entry !== undefined) return entry.isRetired ? 'retired' : 'no sign of use'
  const twin = [...directory.keys()].find(other => other.toLowerCase() === name.toLowerCase())
  return `the server does not list it${twin === undefined ? '' : `, but ${shortened(twin)}`}`
}

/** An alert waits at most so long for polls that may bring the answer it misses. */
const HOLD_MS_MAX = 1000

/** An open alert about urgent mail is announced again for other names once in this time at most (KS-95). */
const URGENT_QUIET_MS = 3_600_000

/** What the account-wide alerts are decided from, once all of it is known. */
interface AccountFacts {
  readonly directory: ReadonlyMap<string, DirectoryEntry>
  readonly table: NonNullable<CoreState['table']>
  readonly watched: readonly Persona[]
}

/** Keeps the two account-wide alerts as the counts, the directory and the journal have them (KS-63 to KS-65). */
export class AccountAlerts {
  readonly #core: CoreState
  readonly #firstSeenMs: ReadonlyMap<string, number>
  readonly #lists = new NameLists()
  #dormant: ReadonlySet<string> = new Set()
  /** Since when an alert waits. */
  #heldMs: number | undefined
  /** Since when each persona has not answered urgent mail; undefined until the first look at that. */
  #silentSinceMs: ReadonlyMap<string, number> | undefined
  /** When the next of them comes into the alert. */
  #overdueMs = Number.POSITIVE_INFINITY
  /** When this process last announced urgent mail in each inbox. */
  readonly #urgentSaidMs = new Map<string, number>()

  constructor(core: CoreState, firstSeenMs: ReadonlyMap<string, number>) {
    this.#core = core
    this.#firstSeenMs = firstSeenMs
  }

  /** When an alert that waits is decided, whatever comes in until then. */
  get wakeAtMs(): number {
    return Math.min(this.#heldUntilMs, this.#overdueMs)
  }

  get #heldUntilMs(): number {
    return this.#heldMs === undefined ? Number.POSITIVE_INFINITY : this.#heldMs + HOLD_MS_MAX
  }

  /** These records are durable: what they announced is announced. */
  committed(drafts: readonly Draft[], nowMs: number): void {
    for (const { agent, event, item_id } of drafts)
      if (event === 'alert' && item_id.endsWith('/urgent-unanswered')) this.#urgentSaidMs.set(agent, nowMs)
  }

  /** What is to be recorded now; nothing while anything it takes is not known. */
  *plan(nowMs: number): Generator<Draft> {
    const { directory, inboxes, options, personas, table } = this.#core
    // Whether somebody ever wrote decides which inboxes get the alert.
    if (directory?.entries === undefined || table === undefined || !personas.isSeen) return
    const watched = [...inboxes.values()].map(({ persona }) => persona)
    const facts: AccountFacts = { directory: directory.entries, table, watched }
    if (options.strandedAlerts && this.#isConfirmed(facts, nowMs)) yield* this.#stranded(facts, nowMs)
    if (options.urgentAlerts) {
      const { urgent, writeOnly } = this.#urgentUnanswered(facts, nowMs)
      if (urgent.length > 0 && this.#mayBeAnswered(watched, nowMs)) return
      this.#heldMs = undefined
      const names = this.#lists.settle('urgent-unanswered', urgent)
      const also = writeOnly.length > 0 ? { urgent_unanswered_write_only: writeOnly } : {}
      yield* this.#drafts('urgent-unanswered', names, { urgent_unanswered: names, ...also }, facts, nowMs)
    }
    this.#core.areAlertsDirty = false
  }

  /** Inboxes with unread mail that none of their owners reads, by tier, in the order of their names. */
  *#stranded(facts: AccountFacts, nowMs: number): Generator<Draft> {
    const { directory, table } = facts
    const unread = [...table].flatMap(([name, count]) => (count.unread > 0 ? [name] : [])).sort()
    const names = this.#lists.settle(
      'stranded-mail',
      unread.filter(name => tierOf(directory.get(name)) === 'stranded'),
    )
    const dormant = unread.filter(name => tierOf(directory.get(name)) === 'dormant')
    this.#sayDormant(dormant)
    const also = dormant.length > 0 ? { dormant_inboxes: dormant } : {}
    yield* this.#drafts('stranded-mail', names, { stranded_inboxes: names, ...also }, facts, nowMs)
  }

  /** Personas with urgent mail that are known to have written nothing since it can have come (KS-64), for long enough. */
  #urgentUnanswered(
    { directory, table, watched }: AccountFacts,
    nowMs: number,
  ): { readonly urgent: string[]; readonly writeOnly: string[] } {
    const silent = watched.filter(({ messages, name }) => {
      if (!directory.has(name) || (table.get(name)?.unreadUrgent ?? 0) === 0) return false
      // The urgent mail is among what is unread, so it came with the oldest of that at the earliest.
      const since = messages.lowestUnread
      return since !== undefined && this.#isKnownSilent(name, since, watched)
    })
    const names = this.#overdue(silent, watched, nowMs).sort()
    const isWriteOnly = (name: string): boolean => directory.get(name)?.isWriteOnly === true
    return { urgent: names.filter(name => !isWriteOnly(name)), writeOnly: names.filter(isWriteOnly) }
  }

  /** KS-95: those that have been silent for the grace period, or that an earlier process put into the alert. */
  #overdue(silent: readonly Persona[], watched: readonly Persona[], nowMs: number): string[] {
    const before = this.#silentSinceMs ?? sinceEver(watched)
    const sinceMs = new Map(silent.map(({ name }) => [name, before.get(name) ?? nowMs]))
    this.#silentSinceMs = sinceMs
    this.#overdueMs = Number.POSITIVE_INFINITY
    const overdue: string[] = []
    for (const [name, ms] of sinceMs) {
      const dueMs = ms + this.#core.options.urgentAfterMs
      if (dueMs <= nowMs) overdue.push(name)
      else this.#overdueMs = Math.min(this.#overdueMs, dueMs)
    }
    return overdue
  }

  /** True if an author certainly wrote nothing above an id, as far as these inboxes were observed (KS-71). */
  #isKnownSilent(author: string, id: number, observed: readonly Persona[]): boolean {
    const { personas } = this.#core
    if (!personas.hasAuthors || (personas.newestOf(author) ?? 0) > id) return false
    return observed.every(persona => {
      const { record } = persona
      if (record === undefined) return true
      return id >= Math.max(record.floor, record.knownFrom ?? 0) && pinOf(persona) === undefined
    })
  }

  /**
   * True while an answer may be on its way: it is in another inbox than the urgent mail, and the two are not polled
   * at the same instant. An inbox that was never polled may hold one; so may, for a moment, one that is due.
   */
  #mayBeAnswered(watched: readonly Persona[], nowMs: number): boolean {
    if (watched.some(({ record, isDown }) => record === undefined && !isDown)) return true
    const inboxes = [...this.#core.inboxes.values()]
    const isSettled = inboxes.every(
      ({ polls, isUrgent, poll, result }) =>
        polls > 0 && !isUrgent && poll === undefined && result === undefined,
    )
    if (isSettled) return false
    this.#heldMs ??= nowMs
    return nowMs < this.#heldUntilMs
  }

  /** A name is judged by a directory that was fetched after it was first seen in the counts. */
  #isConfirmed({ directory, table }: AccountFacts, nowMs: number): boolean {
    const watch = this.#core.directory
    if (watch === undefined) return false
    for (const [name, { unread }] of table) {
      if (unread <= 0 || tierOf(directory.get(name)) === 'fine') continue
      if ((this.#firstSeenMs.get(name) ?? nowMs) > watch.sentMs) {
        watch.want(nowMs)
        return false
      }
    }
    return true
  }

  #sayDormant(dormant: readonly string[]): void {
    for (const persona of dormant) {
      if (this.#dormant.has(persona)) continue
      const message = 'this persona has unread mail and has read none so far, or it only sends mail'
      this.#core.note({ level: 'info', code: 'dormant_inbox', message, persona })
    }
    this.#dormant = new Set(dormant)
  }

  /** The inboxes that get an alert: watched members that show a consumer; if there is none, all of them (KS-65). */
  #audience({ directory, watched }: AccountFacts): readonly Persona[] {
    const members = watched.filter(({ name }) => directory.has(name))
    const consuming = members.filter(({ name }) => {
      const memoryCount = directory.get(name)?.memoryCount
      const hasWritten = this.#core.personas.newestOf(name) !== undefined
      return memoryCount === undefined || memoryCount > 0 || hasWritten
    })
    return consuming.length > 0 ? consuming : members
  }

  /** Opens an alert once, updates it when a name comes or goes, clears it when no name is left. */
  *#drafts(
    kind: AccountAlertKind,
    names: readonly string[],
    members: JsonObject,
    facts: AccountFacts,
    nowMs: number,
  ): Generator<Draft> {
    if (names.length === 0) {
      for (const persona of facts.watched) yield* clearedAlert(persona, kind)
      return
    }
    for (const persona of this.#audience(facts)) {
      const before = persona.openAlert(kind)
      const known = before === undefined ? [] : namesIn(before, kind)
      if (before !== undefined && this.#lists.isSame(known, names)) continue
      const listed = new Set(known)
      const isNews = before === undefined || names.some(one => !listed.has(one))
      if (!isNews && known.length === names.length) continue
      const isQuiet = before !== undefined && kind === 'urgent-unanswered' && this.#isJustSaid(persona, nowMs)
      const event = isNews && !isQuiet ? 'alert' : undefined
      const { directory, table } = facts
      const reason = accountReason(kind, names, name => {
        if (kind !== 'stranded-mail') return shortened(name)
        return `${shortened(name)} (${table.get(name)?.unread ?? 0} unread; ${whyStranded(name, directory)})`
      })
      yield alertDraft(persona, kind, { status: 'open', reason, members, event })
    }
  }

  #isJustSaid({ name }: Persona, nowMs: number): boolean {
    return nowMs - (this.#urgentSaidMs.get(name) ?? Number.NEGATIVE_INFINITY) < URGENT_QUIET_MS
  }
}

/** The names of open alerts about urgent mail. */
function sinceEver(watched: readonly Persona[]): Map<string, number> {
  const open = watched.map(persona => persona.openAlert('urgent-unanswered') ?? {})
  const names = open.flatMap(payload => namesIn(payload, 'urgent-unanswered').map(String))
  return new Map(names.map(name => [name, Number.NEGATIVE_INFINITY]))
}

/**
 * The names that account-wide alerts hold. Every inbox that gets one holds a list of its own, all are compared with
 * every commit, and most of them did not change: two lists that were found to be the same are not compared again.
 */
export class NameLists {
  readonly #newest = new Map<AccountAlertKind, string[]>()
  readonly #same = new WeakMap<readonly unknown[], readonly string[]>()

  /** These names; the very list of the last time if it held the same. */
  settle(kind: AccountAlertKind, names: string[]): string[] {
    const before = this.#newest.get(kind)
    if (before !== undefined && areEqual(before, names)) return before
    this.#newest.set(kind, names)
    return names
  }

  /** True if a list holds these names, in this order. */
  isSame(list: readonly unknown[], names: readonly string[]): boolean {
    if (list === names || this.#same.get(list) === names) return true
    if (!areEqual(list, names)) return false
    this.#same.set(list, names)
    return true
  }
}

function areEqual(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((one, at) => one === b[at])
}
