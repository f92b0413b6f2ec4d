/** Erases the content of one entity: finds it, announces the new segments in a note, puts them into place. */
import { type JsonObject, KimError, type ReadRecord, SegmentReader } from '@kim/manifest'
import type { RehearsedChange } from '../effects/dry-run.js'
import { failure } from './disk-errors.js'
import type { Draft } from './draft.js'
import {
  applyRedactions,
  eraseInSegment,
  eraseRest,
  type RedactedEntity,
  type RedactedFile,
  type Redaction,
  segmentDigestOf,
  waitingPath,
  writeWaiting,
} from './erase.js'
import {
  listSegmentCopies,
  listSegments,
  readSegmentFile,
  type SegmentFile,
  segmentChunks,
} from './listing.js'
import { journalNote, NOTE_TYPE } from './notes.js'
import { closeSession, openSession, type Session } from './open.js'
import { type JournalOptions, rehearse, type Store } from './store.js'

/** Whose content is to be erased: an entity, or that of the record with a number. */
export type RedactTarget = RedactedEntity | { readonly seq: number }

/** How a redaction is done. */
export interface RedactOptions extends JournalOptions {
  readonly target: RedactTarget
  readonly reason: string
  /** Say what would be done, and do nothing. */
  readonly dryRun?: boolean | undefined
}

/** What a redaction did, or would do. */
export interface RedactReport {
  readonly item_type: string
  readonly item_id: string
  /** Records that lost their content. */
  readonly records: number
  /** The segments that hold them. */
  readonly segments: readonly string[]
  /** What opening the store would do first; only of a dry run. */
  readonly opening?: readonly RehearsedChange[]
}

/** Files that fit one note: an entry is about 250 bytes, and a payload has 64 KiB. */
const FILES_PER_NOTE = 64

/** Files that fit the one commit of a redaction's notes; an entity in more of them is erased in several. */
const FILES_PER_ROUND = 256

/**
 * Erases one entity's content from every record, live and archived, from blobs and checkpoints. Offline: it
 * takes the store's lock, and a running producer refuses it.
 */
export function redactStore(options: RedactOptions): RedactReport {
  if (options.dryRun !== true) return redactIn(options)
  const rehearsal = rehearse(options)
  return redactIn(rehearsal.options, rehearsal.changes)
}

function redactIn(options: RedactOptions, rehearsed?: () => readonly RehearsedChange[]): RedactReport {
  const session = openSession(options)
  try {
    const { store, appender, state, upkeep } = session
    const opening = rehearsed?.()
    const entity = findTarget(store, options.target)
    const found = changes(store, entity)
    // A name that nothing has ever had is a mistake in the name, and not something that is erased already.
    if (found.length === 0 && state.find(entity.item_type, entity.item_id) === undefined)
      requireRecord(store, entity)
    const report = {
      ...entity,
      records: found.reduce((sum, { lines }) => sum + lines, 0),
      segments: [...new Set(found.map(({ file }) => file.name))],
      ...(opening === undefined ? {} : { opening }),
    }
    if (found.length === 0 || opening !== undefined) return report
    appender.settle()
    upkeep.hold()
    redact(session, entity, options.reason)
    return report
  } finally {
    closeSession(session)
  }
}

function findTarget(store: Store, target: RedactTarget): RedactedEntity {
  const entity = 'seq' in target ? entityOf(store, target.seq) : target
  if (entity.item_type !== NOTE_TYPE) return entity
  throw failure(
    'usage',
    'cannot redact a note of the journal itself',
    'nothing was changed; name a message or another entity',
  )
}

/** A record of the journal for which this is true. */
function findRecord(store: Store, isIt: (record: ReadRecord) => boolean): ReadRecord | undefined {
  let found: ReadRecord | undefined
  for (const file of listSegments(store)) {
    const reader = new SegmentReader({
      valid({ record }) {
        if (isIt(record)) found = record
      },
    })
    for (const chunk of segmentChunks(store, file)) reader.push(chunk)
    if (found !== undefined) return found
  }
  return undefined
}

function entityOf(store: Store, seq: number): RedactedEntity {
  const found = findRecord(store, record => record.seq === seq && record.item_id !== undefined)
  if (found?.item_id !== undefined) return { item_type: found.item_type, item_id: found.item_id }
  throw failure('no_record', `the journal has no record with seq ${seq}`, 'nothing was changed')
}

function requireRecord(store: Store, { item_id, item_type }: RedactedEntity): void {
  const isAbout = (record: ReadRecord): boolean =>
    record.item_type === item_type && record.item_id === item_id
  if (findRecord(store, isAbout) !== undefined) return
  throw failure(
    'no_record',
    `no record is about ${item_type} ${item_id}`,
    'nothing was changed; name a message by its persona and id, such as --entity message river/246',
  )
}

/** The files that hold content of the entity. Their new bytes are made again later, so that one segment is held at most. */
function changes(store: Store, entity: RedactedEntity): { file: SegmentFile; lines: number }[] {
  return listSegmentCopies(store)
    .map(({ first: file }) => ({ file, lines: eraseInSegment(readSegmentFile(store, file), [entity]).lines }))
    .filter(({ lines }) => lines > 0)
}

function redact(session: Session, entity: RedactedEntity, reason: string): void {
  const { store, appender, projectId } = session
  const boundary = appender.roll(projectId)
  appender.settle()
  const files = changes(store, entity).map(({ file }) => file)
  const redactions: Redaction[] = []
  for (let at = 0; at < files.length; at += FILES_PER_ROUND) {
    const redaction = announce(session, entity, reason, files.slice(at, at + FILES_PER_ROUND))
    redactions.push(redaction)
    applyRedactions(store, [redaction])
  }
  eraseRest({ ...session, boundary }, redactions)
}

/** Writes the new bytes of some files beside them, and announces all of them in one transaction. */
function announce(
  { store, appender }: Session,
  entity: RedactedEntity,
  reason: string,
  files: readonly SegmentFile[],
): Redaction {
  const noted: RedactedFile[] = []
  try {
    for (const file of files) {
      const present = readSegmentFile(store, file)
      const { bytes } = eraseInSegment(present, [entity])
      const [before, after] = [segmentDigestOf(present), segmentDigestOf(bytes)]
      noted.push({ segment: file.name, before, after })
      writeWaiting(store, file, bytes)
    }
    const { seqs } = appender.appendOne(notesOf(entity, reason, noted), { tx: true })
    return { seq: seqs.at(-1) ?? 0, entity, files: noted }
  } catch (error) {
    // The error says that nothing was done, so nothing may be left; the next open would remove it too.
    if (error instanceof KimError) for (const file of files) store.disk.removeNow(waitingPath(file))
    throw error
  }
}

function notesOf(entity: RedactedEntity, reason: string, files: readonly RedactedFile[]): Draft[] {
  const parts = Math.ceil(files.length / FILES_PER_NOTE)
  return Array.from({ length: parts }, (_, at) => {
    const own = files.slice(at * FILES_PER_NOTE, (at + 1) * FILES_PER_NOTE)
    const fields: JsonObject = { ...entity, reason, files: own, part: at + 1, parts }
    return journalNote(
      'redaction',
      fields,
      `${entity.item_type} erased from ${own.length} ${own.length === 1 ? 'segment' : 'segments'}`,
    )
  })
}
