import { basename, join } from 'node:path'
import {
  announcedLoss,
  encodeMeta,
  KimError,
  limits,
  type Meta,
  parseMeta,
  segmentName,
  tempName,
} from '@kim/manifest'
import type { Store } from './store.js'

/** At most so long, and so many records, may meta.json be behind. */
const LAZY_MS = 1000
const LAZY_RECORDS = 5000

/** It is of constant size; a much longer file is not read. */
const META_BYTES_MAX = 4096

function readMeta({ disk, paths }: Store): Meta | undefined {
  try {
    const bytes = disk.readSmall(paths.meta, META_BYTES_MAX)
    return bytes === undefined ? undefined : parseMeta(bytes.toString('utf8'))
  } catch (error) {
    // It is only a cache; what cannot be read is replaced.
    if (!(error instanceof KimError)) throw error
    return undefined
  }
}

/** The project that meta.json names: the last word of a journal that has lost every record that does. */
export function projectInMeta(store: Store): string | undefined {
  const project = readMeta(store)?.project_id
  return project !== undefined && /^[0-9a-f]{32}$/.test(project) ? project : undefined
}

/**
 * The next seq to append. It is higher than that of the segments if meta.json shows, credibly, that the disk lost records
 * after they were announced.
 */
export function nextSeqByMeta(store: Store, projectId: string, nextSeq: number): number {
  const { paths, log } = store
  const meta = readMeta(store)
  if (meta === undefined) return nextSeq
  const lost = announcedLoss(meta, projectId, nextSeq)
  if (lost !== undefined) {
    log({
      level: 'error',
      code: 'records_lost',
      message: `the disk lost the records ${lost.from} to ${lost.to}`,
      hint: 'the seqs are skipped and noted in a seq_repair record; mail that the server still has is polled again',
    })
    return lost.to + 1
  }
  if (meta.project_id === projectId && meta.next_seq > nextSeq + limits.metaAheadRecordsMax) {
    log({
      level: 'warn',
      code: 'meta_ignored',
      message: `ignored ${paths.meta}: its next_seq is too far ahead of the journal`,
    })
  }
  return nextSeq
}

/** Reports that the records of an earlier journal are missing here: no other file shows it (R1). */
export function tellOfEarlier(store: Store): void {
  const { log, paths } = store
  const meta = readMeta(store)
  if (meta === undefined || meta.next_seq === 1) return
  log({
    level: 'error',
    code: 'records_lost',
    message: `all records of the journal in ${paths.events}, up to ${meta.next_seq - 1}, are missing: a new journal begins`,
    hint: 'mail on the server is recorded again, as on a first poll; if you have a backup, stop the producer, restore the store from it, and start again',
  })
}

/** Keeps meta.json near the truth, at leisure: a cache that is never worth a sync or a failure. */
export class MetaCache {
  readonly #store: Store
  readonly #projectId: string
  #writtenMs = Number.NEGATIVE_INFINITY
  #writtenSeq = 0

  constructor(store: Store, projectId: string) {
    this.#store = store
    this.#projectId = projectId
  }

  /** Writes the next seq, unless it was written a moment ago. */
  note(nextSeq: number, segment: number): void {
    const now = this.#store.clock.monoMs()
    if (now - this.#writtenMs < LAZY_MS && nextSeq - this.#writtenSeq < LAZY_RECORDS) return
    this.write(nextSeq, segment)
  }

  /** Writes the next seq now. */
  write(nextSeq: number, segment: number): void {
    if (nextSeq === this.#writtenSeq) return
    const { disk, paths, clock } = this.#store
    this.#writtenMs = clock.monoMs()
    this.#writtenSeq = nextSeq
    const text = encodeMeta({ project_id: this.#projectId, next_seq: nextSeq }, segmentName(segment))
    try {
      disk.writeLoosely(join(paths.events, tempName(basename(paths.meta))), paths.meta, Buffer.from(text))
    } catch (error) {
      if (!(error instanceof KimError)) throw error
      this.#store.log({ level: 'warn', code: 'meta_not_written', message: error.message, hint: error.hint })
    }
  }
}
