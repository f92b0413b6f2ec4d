/** Makes commits of what was decided: which records come next, and what is over with once they are durable. */
import {
  compareUtf8,
  fitsCommit,
  isJsonObject,
  type JsonValue,
  limits,
  registryCapability,
  registryOfAllCapability,
} from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import { journalNote } from '../journal/notes.js'
import {
  alertDraft,
  blankPersonaRecord,
  type Persona,
  type PersonaRecord,
  personaDraft,
} from '../journal/persona.js'
import type { AccountAlerts } from './alerts.js'
import type { CommitOutcome, CoreState, CountsTable } from './core.js'
import type { FailedPoll } from './poll-pages.js'
import { pollPlan, readMarks } from './poll-records.js'
import type { Inbox, Poller } from './schedule.js'

/** A commit that was handed out, and what is over with once it is durable. */
interface Handed {
  readonly drafts: readonly Draft[]
  readonly finished: readonly Inbox[]
  /** The personas whose facts are wholly in it. */
  readonly settled: readonly string[]
}

export class Committer {
  readonly #core: CoreState
  readonly #polls: Poller
  readonly #account: AccountAlerts
  #handed: Handed | undefined

  constructor(core: CoreState, polls: Poller, account: AccountAlerts) {
    this.#core = core
    this.#polls = polls
    this.#account = account
  }

  /** The next commit; the same one until its outcome is known. */
  next(nowMs: number): readonly Draft[] | undefined {
    this.#handed ??= this.#build(nowMs)
    return this.#handed?.drafts
  }

  #build(nowMs: number): Handed | undefined {
    const core = this.#core
    const room = new CommitRoom()
    const drafts: Draft[] = []
    const finished: Inbox[] = []
    const settled: string[] = []
    /** True if the plan fits whole. */
    const take = (plan: Iterable<Draft>): boolean => {
      for (const draft of plan) {
        if (!room.takes(draft)) return false
        drafts.push(draft)
      }
      return true
    }
    for (const name of [...core.dirty].sort(compareUtf8)) {
      const inbox = core.inboxes.get(name)
      const hasResult = inbox?.result !== undefined
      if (hasResult && this.#polls.isWaiting(inbox, nowMs)) continue
      const before = drafts.length
      if (!take(this.#planOf(name, inbox, nowMs))) break
      const isDone = drafts.length === before
      if (hasResult && isDone) this.#polls.finish(inbox, nowMs)
      else if (hasResult) finished.push(inbox)
      else if (isDone) this.#settle(name)
      else settled.push(name)
    }
    if (core.areAlertsDirty || this.#account.wakeAtMs <= nowMs) take(this.#account.plan(nowMs))
    take(this.#genesis())
    return drafts.length === 0 ? undefined : { drafts, finished, settled }
  }

  /** The records of a poll first; what else is known of its persona goes into a commit of its own. */
  #planOf(name: string, inbox: Inbox | undefined, nowMs: number): Iterable<Draft> {
    const core = this.#core
    const result = inbox?.result
    if (inbox === undefined || result === undefined) return factsPlan(core, core.personas.take(name), inbox)
    if (result.kind === 'failed') return failedPlan(inbox, result, core.options.alertAfter, nowMs)
    return pollPlan(core, inbox, result, nowMs)
  }

  /** KS-40: once every selected persona is in, or has failed long enough to be called missing. */
  #genesis(): readonly Draft[] {
    const core = this.#core
    if (!core.isGenesisDirty) return []
    core.isGenesisDirty = false
    if (!needsGenesis(core)) return []
    if (core.inboxes.size === 0 || (core.mode === 'all' && core.directory?.entries === undefined)) return []
    const personas = [...core.inboxes.values()].map(({ persona }) => persona)
    if (personas.some(({ isDown, record }) => record === undefined && !isDown)) return []
    const namesOf = (some: readonly Persona[]): string[] => some.map(({ name }) => name).sort(compareUtf8)
    return genesisDrafts(
      core.mode,
      namesOf(personas.filter(({ record }) => record !== undefined)),
      namesOf(personas.filter(({ record }) => record === undefined)),
    )
  }

  #settle(name: string): void {
    const core = this.#core
    const inbox = core.inboxes.get(name)
    if (inbox !== undefined) inbox.reads = []
    core.dirty.delete(name)
    // Counts that came in since then may say something else by now.
    if (hasFacts(core.personas.take(name), inbox, core.table)) core.dirty.add(name)
  }

  /** What became of the commit that was handed out. True if it made new messages durable. */
  committed(outcome: CommitOutcome, nowMs: number): boolean {
    const handed = this.#handed
    this.#handed = undefined
    this.#core.isGenesisDirty = true
    this.#core.areAlertsDirty = true
    // If it was refused, the next commit is derived from what the journal has of it all the same.
    if (outcome !== 'durable' || handed === undefined) return false
    this.#account.committed(handed.drafts, nowMs)
    for (const inbox of handed.finished) this.#polls.finish(inbox, nowMs)
    for (const name of handed.settled) this.#settle(name)
    return handed.drafts.some(({ item_type, action }) => item_type === 'message' && action === 'create')
  }
}

/** What a failed poll records: nothing, unless it takes the inbox down (KS-49). */
function* failedPlan(
  inbox: Inbox,
  { failure }: FailedPoll,
  alertAfter: number,
  nowMs: number,
): Generator<Draft> {
  const { failures, name, persona } = inbox
  const { isDown, record } = persona
  const goesDown = !isDown && failures >= alertAfter
  if (!goesDown && !isDown) return
  if (goesDown) {
    yield alertDraft(persona, 'unreachable', {
      status: 'open',
      reason: failure.reason,
      members: { consecutive_failures: failures, seconds: inbox.failingSeconds(nowMs) },
      event: 'alert',
    })
  }
  if (record === undefined || record.state === 'down') return
  const down = { ...record, state: 'down', cursor: persona.cursor } as const
  yield personaDraft(name, down, { isNew: false, summary: `${name} is down` })
}

/** The persona's record as the facts besides its polls have it; the same object if nothing changed. */
function recordNow(
  persona: Persona,
  record: PersonaRecord,
  table: CountsTable,
  watched: boolean,
): PersonaRecord {
  const row = table?.get(persona.name)
  // Absence from a valid answer is 0, a mistyped count says nothing.
  const isSaid = table !== undefined && (row === undefined || row.unreadUrgent !== undefined)
  const unreadUrgent = isSaid ? (row?.unreadUrgent ?? 0) : record.unreadUrgent
  if (unreadUrgent === record.unreadUrgent && record.watched === watched) return record
  return { ...record, unreadUrgent, watched, cursor: persona.cursor }
}

/** True if something besides a poll is to be recorded about a persona. */
export function hasFacts(persona: Persona, inbox: Inbox | undefined, table: CountsTable): boolean {
  const { record } = persona
  if (inbox !== undefined && inbox.reads.length > 0) return true
  if (record === undefined) return inbox?.isAdded === true
  return recordNow(persona, record, table, inbox !== undefined) !== record
}

/** What is recorded about a persona besides its polls: that it came in, its urgent count, what was read. */
function* factsPlan(core: CoreState, persona: Persona, inbox: Inbox | undefined): Generator<Draft> {
  const { name, record } = persona
  if (record === undefined && inbox?.isAdded === true) {
    const summary = `${name} was added`
    yield personaDraft(name, blankPersonaRecord, { isNew: true, event: 'persona_added', summary })
    return
  }
  const now = record && recordNow(persona, record, core.table, inbox !== undefined)
  if (now !== undefined && now !== record) {
    const urgent = `${name}: unread urgent messages at the server: ${now.unreadUrgent}`
    const watched = now.watched ? `${name} is watched again` : `${name} is not watched any more`
    const summary = now.watched === record?.watched ? urgent : watched
    yield personaDraft(name, now, { isNew: false, summary })
  }
  if (inbox !== undefined) yield* readMarks(core, persona, inbox.reads)
}

/** A note holds so many UTF-16 units of names; more names go into further parts of it. */
const PART_UNITS_MAX = 8000

/** Whether the registry genesis is still to be appended: once, and once more when a list becomes all (KS-40). */
export function needsGenesis({ capabilities, mode }: Pick<CoreState, 'capabilities' | 'mode'>): boolean {
  return !capabilities.has(mode === 'all' ? registryOfAllCapability : registryCapability)
}

/** The note, in as many parts as the names need. */
function genesisDrafts(
  mode: 'all' | 'list',
  personas: readonly string[],
  missing: readonly string[],
): Draft[] {
  const parts: { readonly personas: string[]; readonly missing: string[]; units: number }[] = []
  const list = (names: readonly string[], member: 'personas' | 'missing'): void => {
    for (const name of names) {
      // Its quotes and its comma included.
      const units = name.length + 4
      const last = parts.at(-1)
      const part =
        last !== undefined && last.units + units <= PART_UNITS_MAX
          ? last
          : { personas: [], missing: [], units: 0 }
      if (part !== last) parts.push(part)
      part[member].push(name)
      part.units += units
    }
  }
  list(personas, 'personas')
  list(missing, 'missing')
  const summary = `the journal covers ${personas.length} personas; ${missing.length} did not answer yet`
  return parts.map((part, at) => {
    const place = parts.length > 1 ? { part: at + 1, parts: parts.length } : {}
    const fields = { mode, personas: part.personas, missing: part.missing, ...place }
    return journalNote('registry_genesis', fields, summary)
  })
}

/** What the line of a record has besides what the draft brings: names of members, numbers, clocks. */
const FRAME_BYTES = 600
/** An escaped UTF-16 unit takes at most so many bytes. */
const UNIT_BYTES_MAX = 6
/** Up to this length a bound is as good as a measure. */
const SHORT_UNITS = 2000

/** A value takes at most so many bytes of a line. */
function bytesOf(value: JsonValue | undefined): number {
  if (typeof value === 'string') {
    if (value.length <= SHORT_UNITS) return value.length * UNIT_BYTES_MAX + 2
    return Buffer.byteLength(JSON.stringify(value))
  }
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + bytesOf(item) + 1, 2)
  if (!isJsonObject(value)) return 24
  return Object.entries(value).reduce(
    (sum, [key, item]) => sum + key.length * UNIT_BYTES_MAX + bytesOf(item) + 4,
    2,
  )
}

/** A bound for the line that a draft becomes; one whose payload goes into a blob takes little. */
function lineBytesMax({ agent, item_id, summary, payload }: Draft): number {
  const units = agent.length + item_id.length + Math.min(summary.length, 2 * limits.summaryCodePointsMax)
  return FRAME_BYTES + units * UNIT_BYTES_MAX + bytesOf(payload)
}

/** Counts what one commit holds (KS-45). */
class CommitRoom {
  #records = 0
  #bytes = 0

  /** Takes a draft in if there is room for it; there always is for the first. */
  takes(draft: Draft): boolean {
    const bytes = this.#bytes + lineBytesMax(draft)
    if (this.#records > 0 && !fitsCommit(this.#records + 1, bytes)) return false
    this.#records++
    this.#bytes = bytes
    return true
  }
}
