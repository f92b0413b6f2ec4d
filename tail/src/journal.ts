/** The journal that a command line names: opens it, refuses it with a hint, and finds out whose it is. */
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { didYouMean, type StoreLocation, safeText, shellWord, usageError } from '@kim/cli-kit'
import { KimError, parseSegmentName, storePaths } from '@kim/manifest'
import type { JournalFacts } from '@kim/monitor'
import type { Observer } from '@kim/observer-sdk'
import {
  isInsideStore,
  type JournalHistory,
  listEntries,
  openHistory,
  payloadOf,
} from '@kim/observer-sdk/history'

/** Lists the journal; a missing one is an error. */
export function requireHistory(location: StoreLocation): JournalHistory {
  const past = openHistory(location.eventsDir)
  if (past !== undefined) return past
  const { eventsDir, storeDir } = location
  const asked = storeDir ?? eventsDir
  throw new KimError('no_store', `there is no journal at ${safeText(asked)}`, {
    hint: storeHint(asked, storeDir !== undefined),
  })
}

/** Derives the state of a journal once. */
export async function withObserver<T>(location: StoreLocation, use: (observer: Observer) => T): Promise<T> {
  const { eventsDir } = location
  // An observer waits for what it cannot read; a command that answers once says so instead.
  requireHistory(location)
  const { memoryCursors, openObserver } = await import('@kim/observer-sdk')
  const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
  try {
    return use(observer)
  } finally {
    await observer.close()
  }
}

/** What the records of a journal alone do not say. */
export function factsOf(past: JournalHistory): JournalFacts {
  return { projectId: () => past.projectId, payloadOf: record => payloadOf(past.eventsDir, record) }
}

const REASONS: Readonly<Record<string, string>> = {
  future: 'some records are of a later version',
  history: 'older records are missing',
  unreadable: 'some files cannot be read',
}

/** How far a journal can be read, in words. */
export function statusText({ kind, reasons }: Pick<Observer['status'], 'kind' | 'reasons'>): string {
  if (reasons.length > 0) return reasons.map(reason => REASONS[reason] ?? reason).join(', ')
  return kind === 'live' ? 'readable' : kind
}

/** Refuses to write at or below the observed store: a reader must not disturb the store, whatever its flags are. */
export function refuseInside(location: StoreLocation, path: string, flag: string): void {
  if (!isInsideStore(location, path)) return
  // A directory without a journal is no store to leave: its name is the mistake.
  if (!existsSync(location.eventsDir)) requireHistory(location)
  throw usageError(
    `${flag} would write inside the store, which kim-tail only reads: ${path}`,
    flag === '--cursor-file'
      ? 'name a path outside the store'
      : 'set $XDG_STATE_HOME to a directory outside the store: consumers keep their cursors below it',
  )
}

/** The error for a persona that no record is about. */
export function noPersona(name: string, known: Iterable<string>): KimError {
  const names = [...known].sort()
  const listed = names.slice(0, 12).map(safeText).join(', ')
  return new KimError('no_persona', `no persona "${safeText(name)}"${safeText(didYouMean(name, names))}`, {
    hint:
      names.length === 0
        ? 'the journal has no persona yet'
        : `known: ${listed}${names.length > 12 ? ', …' : ''}`,
  })
}

/** What is at the path instead of a journal, or which path may have been meant. */
function storeHint(asked: string, isStore: boolean): string {
  if (isStore && namesOf(asked).some(name => parseSegmentName(name) !== undefined))
    return `this is an events directory, so use: --events ${safeText(asked)}`
  const parent = dirname(asked)
  const siblings = namesOf(parent).filter(
    name => !isStore || existsSync(storePaths(join(parent, name)).events),
  )
  const close = didYouMean(basename(asked), siblings, `${parent}/`).replace(/^; /, '')
  if (close !== '') return safeText(close)
  const name = 'with --store DIR or $KIM_STORE'
  return isStore
    ? `create it with: kim-producer run --store ${shellWord(asked)}; or name another store ${name}`
    : `name a store ${name}`
}

function namesOf(directory: string): readonly string[] {
  const listed = listEntries(directory)
  return listed.ok ? listed.value.map(({ name }) => name) : []
}
