import type { AccountAlertKind, JsonObject } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import type { Persona, Personas } from '../journal/persona.js'
import type { DirectoryEntry } from '../source/answer.js'
import { accountMember, accountReason } from './account-reason.js'
import { hasWrittenSince } from './authorship.js'
import { alertDraft } from './drafts.js'
import type { CountsTable } from './facts-plan.js'
import type { NameLists } from './name-lists.js'

/** What the two account-wide alarms are decided from. */
export interface AccountFacts {
  readonly directory: ReadonlyMap<string, DirectoryEntry>
  readonly table: NonNullable<CountsTable>
  /** Those that are watched. */
  readonly watched: readonly Persona[]
  readonly personas: Personas
}

/** What an inbox with unread mail is (KS-63). */
export type InboxTier = 'stranded' | 'dormant' | 'fine'

/** The tier of an inbox by what the directory says of it; names are matched in exact case. */
export function tierOf(entry: DirectoryEntry | undefined): InboxTier {
  if (entry === undefined) return 'stranded'
  const { readCount, memoryCount, isRetired, isWriteOnly } = entry
  if (isWriteOnly) return 'dormant'
  if (readCount === undefined) return memoryCount === 0 ? 'stranded' : 'fine'
  if (readCount > 0) return 'fine'
  return isRetired ? 'stranded' : 'dormant'
}

/** Inboxes that receive mail nobody reads, by tier, in the order of their names. */
export function strandedInboxes({ directory, table }: AccountFacts): {
  readonly stranded: string[]
  readonly dormant: string[]
} {
  const stranded: string[] = []
  const dormant: string[] = []
  for (const [name, { unread }] of table) {
    if (unread <= 0) continue
    const tier = tierOf(directory.get(name))
    if (tier === 'stranded') stranded.push(name)
    else if (tier === 'dormant') dormant.push(name)
  }
  return { stranded: stranded.sort(), dormant: dormant.sort() }
}

/** Personas with urgent mail of whom it is known that they wrote nothing since it can have come (KS-64). */
export function urgentUnanswered({ directory, table, watched, personas }: AccountFacts): {
  readonly urgent: string[]
  readonly writeOnly: string[]
} {
  const urgent: string[] = []
  const writeOnly: string[] = []
  for (const persona of watched) {
    const entry = directory.get(persona.name)
    const count = table.get(persona.name)?.unreadUrgent ?? 0
    if (entry === undefined || count === 0) continue
    // The urgent mail is among what is unread, so it came with the oldest of that at the earliest.
    const since = persona.messages.lowestUnread
    if (since === undefined) continue
    if (hasWrittenSince(persona.name, since, watched, personas) !== 'no') continue
    if (entry.isWriteOnly) writeOnly.push(persona.name)
    else urgent.push(persona.name)
  }
  return { urgent: urgent.sort(), writeOnly: writeOnly.sort() }
}

/** Who is told: watched members that show a consumer; if there is none, all watched members (KS-65). */
export function audienceOf({ directory, watched, personas }: AccountFacts): readonly Persona[] {
  const members = watched.filter(({ name }) => directory.has(name))
  const consuming = members.filter(({ name }) => {
    const memoryCount = directory.get(name)?.memoryCount
    return memoryCount === undefined || memoryCount > 0 || personas.newestOf(name) !== undefined
  })
  return consuming.length > 0 ? consuming : members
}

/** One account-wide alarm as it is to stand. */
export interface AccountAlarm {
  readonly kind: AccountAlertKind
  readonly names: readonly string[]
  readonly members: JsonObject
}

function namesIn(payload: JsonObject, kind: AccountAlarm['kind']): readonly unknown[] {
  const list = payload[accountMember(kind)]
  return Array.isArray(list) ? list : []
}

/**
 * What it takes that the alarm stands for its audience as it should: opened once, announced again only if another
 * name has come in, cleared when no name is left.
 */
export function* alarmDrafts(
  alarm: AccountAlarm,
  audience: readonly Persona[],
  watched: readonly Persona[],
  lists: NameLists,
): Generator<Draft> {
  const { kind, names, members } = alarm
  for (const persona of names.length === 0 ? watched : audience) {
    const { name, alerts } = persona
    const standing = persona.openAlert(kind)
    if (names.length === 0) {
      if (standing === undefined) continue
      const { schema_version: _v, persona: _p, kind: _k, status: _s, reason: was, ...measured } = standing
      const before = typeof was === 'string' ? was : kind
      yield alertDraft(name, kind, { isNew: false, status: 'cleared', reason: before, members: measured })
      continue
    }
    const known = standing === undefined ? [] : namesIn(standing, kind)
    if (standing !== undefined && lists.isSame(known, names)) continue
    const told = new Set(known)
    const isNews = standing === undefined || names.some(one => !told.has(one))
    if (!isNews && known.length === names.length) continue
    const event = isNews ? 'alert' : undefined
    const reason = accountReason(kind, names)
    yield alertDraft(name, kind, { isNew: !alerts.has(kind), status: 'open', reason, members, event })
  }
}
