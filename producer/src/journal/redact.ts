import { type JsonObject, KimError, SegmentReader } from '@kim/manifest'
import type { RehearsedChange } from '../effects/rehearsal.js'
import type { Draft } from './draft.js'
import { failure } from './failure.js'
import { listSegments, segmentChunks } from './listing.js'
import { journalNote, NOTE_TYPE } from './notes.js'
import type { JournalOptions } from './options.js'
import { applyRedactions, eraseRest, type RedactedFile, type Redaction } from './redact-finish.js'
import { eraseInSegment, type RedactedEntity } from './redact-image.js'
import { rehearse } from './rehearse.js'
import { roll } from './roll.js'
import {
  listSegmentFiles,
  readSegmentFile,
  type SegmentFile,
  segmentDigestOf,
  waitingPath,
  writeWaiting,
} from './segment-files.js'
import { closeSession, openSession, type Session } from './session.js'
import type { Store } from './store.js'

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
  /** Segments they stand in. */
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
    const { store, opened } = session
    const opening = rehearsed?.()
    const entity = findTarget(store, options.target)
    const found = changes(store, entity)
    if (found.length === 0) requireEntity(session, entity)
    const report = {
      ...entity,
      records: found.reduce((sum, { lines }) => sum + lines, 0),
      segments: [...new Set(found.map(({ file }) => file.name))],
      ...(opening === undefined ? {} : { opening }),
    }
    if (found.length === 0 || opening !== undefined) return report
    opened.appender.settle()
    session.upkeep.hold()
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

function entityOf(store: Store, seq: number): RedactedEntity {
  for (const source of listSegments(store)) {
    let found: RedactedEntity | undefined
    const reader = new SegmentReader({
      valid({ record: { seq: at, item_type, item_id } }) {
        if (at === seq && item_id !== undefined) found = { item_type, item_id }
      },
    })
    for (const chunk of segmentChunks(store, source)) reader.push(chunk)
    if (found !== undefined) return found
  }
  throw failure('no_record', `the journal has no record with seq ${seq}`, 'nothing was changed')
}

/** A name that nothing has ever had is a mistake in the name, and not something that is erased already. */
function requireEntity({ store, opened }: Session, { item_id, item_type }: RedactedEntity): void {
  if (opened.state.find(item_type, item_id) !== undefined) return
  let isThere = false
  for (const source of listSegments(store)) {
    const reader = new SegmentReader({
      valid({ record }) {
        if (record.item_type === item_type && record.item_id === item_id) isThere = true
      },
    })
    for (const chunk of segmentChunks(store, source)) reader.push(chunk)
    if (isThere) return
  }
  throw failure(
    'no_record',
    `no record is about ${item_type} ${item_id}`,
    'nothing was changed; name a message by its persona and id, such as --entity message river/246',
  )
}

/** A file that holds content of the entity. */
interface Change {
  readonly file: SegmentFile
  readonly lines: number
  readonly bytes: Buffer
  readonly noted: RedactedFile
}

function changeOf(store: Store, file: SegmentFile, entity: RedactedEntity): Change | undefined {
  const present = readSegmentFile(store, file)
  const { bytes, lines } = eraseInSegment(present, entity)
  if (lines === 0) return undefined
  const noted = { segment: file.name, before: segmentDigestOf(present), after: segmentDigestOf(bytes) }
  return { file, lines, bytes, noted }
}

/** What would change where; the bytes are made again when they are written, so that one segment is held at most. */
function changes(store: Store, entity: RedactedEntity): Pick<Change, 'file' | 'lines'>[] {
  return listSegmentFiles(store).flatMap(({ first: file }) => {
    const change = changeOf(store, file, entity)
    return change === undefined ? [] : [{ file, lines: change.lines }]
  })
}

function redact(session: Session, entity: RedactedEntity, reason: string): void {
  const { store, opened } = session
  const { appender, state, projectId } = opened
  const boundary = roll(store, appender, state, projectId)
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

/** Writes the new bytes of some files, and says in one run what they are about to become. */
function announce(
  { store, opened }: Session,
  entity: RedactedEntity,
  reason: string,
  files: readonly SegmentFile[],
): Redaction {
  const noted: RedactedFile[] = []
  try {
    for (const file of files) {
      const change = changeOf(store, file, entity)
      if (change === undefined) continue
      noted.push(change.noted)
      writeWaiting(store, file, change.bytes)
    }
    const drafts = notesOf(entity, reason, noted)
    const [outcome] = opened.appender.append([{ drafts, options: { tx: true } }])
    if (outcome === undefined) throw new KimError('internal', 'a redaction without an outcome')
    if ('refused' in outcome) throw outcome.refused
    return { seq: outcome.receipt.seqs.at(-1) ?? 0, entity, files: noted }
  } catch (error) {
    // Whoever reads the error reads that nothing was done; the next open finds the same out for itself.
    if (error instanceof KimError) for (const file of files) store.disk.removeNow(waitingPath(file))
    throw error
  }
}

function notesOf(entity: RedactedEntity, reason: string, files: readonly RedactedFile[]): Draft[] {
  const parts = Math.ceil(files.length / FILES_PER_NOTE)
  return Array.from({ length: parts }, (_, at) => {
    const own = files.slice(at * FILES_PER_NOTE, (at + 1) * FILES_PER_NOTE)
    const fields: JsonObject = {
      ...entity,
      reason,
      files: own.map(({ segment, before, after }) => ({
        segment,
        before: { ...before },
        after: { ...after },
      })),
      part: at + 1,
      parts,
    }
    return journalNote(
      'redaction',
      fields,
      `${entity.item_type} erased from ${own.length} ${own.length === 1 ? 'segment' : 'segments'}`,
    )
  })
}
