import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { formatCount, type Input, type Io } from '@kim/cli-kit'
import { KimError, parseSegmentName, type ReadRecord, SegmentReader, storePaths } from '@kim/manifest'
import { noJournalAt } from '@kim/observer-sdk/history'
import type { RehearsedChange } from '../effects/dry-run.js'
import { openFlags } from '../effects/system.js'
import { systemCode } from '../journal/disk-errors.js'
import { type OpenJournal, openJournalWith } from '../journal/journal.js'
import { type JournalOptions, rehearse } from '../journal/store.js'
import { storeOf } from './store-flags.js'

/** How a one-shot command opens the given store. Throws if there is none, so that the command does not create one. */
export function storeOptions(input: Input, io: Io): JournalOptions {
  const storeDir = storeOf(input, io)
  assertStore(storeDir, 'nothing was created; name a store with --store DIR')
  const missing = noJournalAt(storePaths(storeDir).events)
  if (missing !== undefined) throw missing
  return {
    storeDir,
    log: ({ level, message, hint }) => {
      if (level === 'info') return
      io.stderr.write(`${level === 'warn' ? 'warning' : 'error'}: ${message}\n`)
      if (hint !== undefined) io.stderr.write(`  ${hint}\n`)
    },
  }
}

/** Throws if there is no store, or none that this user can look into. */
export function assertStore(storeDir: string, remedy: string): void {
  try {
    statSync(storePaths(storeDir).events)
    return
  } catch (error) {
    if (systemCode(error) === 'EACCES')
      throw new KimError('not_permitted', `cannot read ${storeDir} (EACCES)`, {
        hint: 'run this as the user that owns the store',
      })
  }
  const isInside =
    noJournalAt(storeDir) === undefined && existsSync(storeDir) && readdirSync(storeDir).length > 0
  throw new KimError('no_store', `there is no store at ${storeDir}`, {
    hint: isInside ? `this is an events directory; did you mean --store ${dirname(storeDir)}?` : remedy,
  })
}

/** Opens the journal for a dry run: no change reaches the disk. */
export function withRehearsal<T>(
  options: JournalOptions,
  work: (journal: OpenJournal, opening: readonly RehearsedChange[]) => T,
): T {
  const rehearsal = rehearse(options)
  return withJournal(rehearsal.options, journal => work(journal, rehearsal.changes()))
}

/** Opens the journal for the work of a command, and always closes it. */
export function withJournal<T>(options: JournalOptions, work: (journal: OpenJournal) => T): T {
  const journal = openJournalWith(options)
  try {
    return work(journal)
  } finally {
    journal.close()
  }
}

/** What a dry run prints about the changes that opening the store would make. */
export function openingLines(opening: readonly RehearsedChange[] = []): string[] {
  if (opening.length === 0) return []
  return ['opening the store would first:', ...opening.map(change => `  ${changeText(change)}`)]
}

function changeText({ bytes = 0, from, path, what }: RehearsedChange): string {
  const size = formatCount(bytes, 'byte')
  const texts: Readonly<Record<RehearsedChange['what'], string>> = {
    append: `append ${size} to ${path}`,
    make: `create ${path}`,
    replace: `replace ${path} by ${size}`,
    move: `move ${from} to ${path}`,
    remove: `remove ${path}`,
    mode: `remove the access of other users to ${path}`,
  }
  return texts[what]
}

const HEAD_BYTES = 4096

/** The server that the genesis note names: the first record of the first segment. Undefined if that is missing. */
export function recordedSource(events: string): string | undefined {
  const first = readdirSync(events).find(name => parseSegmentName(name) === 1)
  if (first === undefined) return undefined
  // Without nonBlock, a pipe in its place would block the process.
  const fd = openSync(join(events, first), openFlags.readOnly | openFlags.nonBlock)
  try {
    if (!fstatSync(fd).isFile()) return undefined
    const bytes = Buffer.alloc(HEAD_BYTES)
    const length = readSync(fd, bytes, 0, HEAD_BYTES, 0)
    let record: ReadRecord | undefined
    const reader = new SegmentReader({
      released(line) {
        record ??= line.record
        reader.stop()
      },
    })
    reader.push(bytes.subarray(0, length))
    const payload = record?.payload
    const source = payload?.['kind'] === 'genesis' ? payload['source'] : undefined
    return typeof source === 'string' ? source : undefined
  } finally {
    closeSync(fd)
  }
}
