/** How far a command came, and where that is kept: under a consumer's name, or in a cursor file. */
import { readFileSync } from 'node:fs'
import { type Io, type StoreLocation, usageError } from '@kim/cli-kit'
import { type ConsumerCursor, formatCursorToken, KimError, parseCursorToken } from '@kim/manifest'
import { refuseInside } from '../journal.js'
import type { Plan } from '../plan.js'
import { REMOVE_CURSOR_FILE } from '../position.js'
import type { Printer } from './printer.js'

/** A record's seq, and the run of the producer that wrote it. */
export type Place = Pick<ConsumerCursor, 'seq' | 'writer'>

/** What a command may write of its cursor. */
export interface Claim {
  readonly stored?: ConsumerCursor | undefined
  readonly save?: ((place: ConsumerCursor) => void) | undefined
  /** Stores where a new consumer begins that only `kim-tail ack` moves: without a cursor it could not. */
  readonly begin?: ((place: ConsumerCursor) => void) | undefined
  release?(): Promise<void>
}

/**
 * How far reading came, before filtering. Only what was flushed to the reader is saved; that happens on every way out,
 * also where the process ends because nothing reads its output any more.
 */
export class ReadCursor {
  /** The journal that the places are in; undefined while there is none. */
  projectId: string | undefined
  readonly #claim: Claim
  readonly #checkpointSeq: number
  readonly #onExit = (): void => this.#saveLate()
  #read: Place
  #flushed: Place
  #saved: string
  #isBegun = false
  #isClosed = false

  constructor({ seq, writer }: Place, claim: Claim = {}, checkpointSeq = 0) {
    this.#read = { seq, writer }
    this.#flushed = this.#read
    this.#claim = claim
    this.#checkpointSeq = checkpointSeq
    this.#saved = JSON.stringify(claim.stored ?? null)
    if (claim.save !== undefined) process.once('exit', this.#onExit)
  }

  /** The highest seq passed. */
  get seq(): number {
    return this.#read.seq
  }

  /** A record was passed, or a batch, with what of it had no effect. */
  pass({ seq, writer }: { readonly seq: number; readonly writer?: string | null | undefined }): void {
    if (seq >= this.#read.seq) this.stand(seq, writer)
  }

  /** What comes next is above this seq, whatever was passed before: less was printed, or the journal is another one. */
  stand(seq: number, writer: string | null = null): void {
    this.#read = { seq, writer }
  }

  /** Everything passed so far is with its reader. */
  flushed(): void {
    const { place } = this
    if (place !== undefined && !this.#isBegun && !this.#isClosed) {
      this.#isBegun = true
      this.#claim.begin?.(place)
    }
    this.#flushed = this.#read
    this.#save()
  }

  /** What may be saved. */
  get place(): ConsumerCursor | undefined {
    const { projectId } = this
    return projectId === undefined
      ? undefined
      : { projectId, ...this.#flushed, checkpointSeq: this.#checkpointSeq }
  }

  /** Saves for the last time. */
  finish(): void {
    try {
      this.#save()
    } finally {
      this.close()
    }
  }

  /** Saves nothing any more: another process may do so now. */
  close(): void {
    this.#isClosed = true
    process.removeListener('exit', this.#onExit)
  }

  #save(): void {
    const { place } = this
    const text = JSON.stringify(place ?? null)
    if (this.#isClosed || place === undefined || text === this.#saved) return
    this.#claim.save?.(place)
    this.#saved = text
  }

  /** The process ends: an error can only go to stderr. */
  #saveLate(): void {
    try {
      this.#save()
    } catch (error) {
      process.exitCode = 1
      process.stderr.write(`kim-tail: ${error instanceof Error ? error.message : String(error)}\n`)
    }
  }
}

/** Takes the consumer's name, or opens the cursor file, that a plan names. */
export async function claimCursor(
  plan: Plan,
  location: StoreLocation,
  io: Io,
  { out, report }: Pick<Printer, 'out' | 'report'>,
  onLost: () => void,
): Promise<Claim> {
  const { commit, position } = plan
  if (position.kind !== 'consumer' && position.kind !== 'cursor-file') return {}
  const { consumerPath, lockConsumer, readConsumer, storeCursor, writeConsumer } = await import(
    '@kim/observer-sdk/consumers'
  )
  if (position.kind === 'cursor-file') {
    const { path } = position
    refuseInside(location, path, '--cursor-file')
    const save = (place: ConsumerCursor): void => storeCursor(path, `${formatCursorToken(place)}\n`)
    return { stored: readCursorFile(path), save }
  }
  const { name } = position
  const path = consumerPath(io.env, name)
  refuseInside(location, path, '--consumer')
  const onWait = (): void => {
    const facts = { reason: 'consumer_held' }
    report.say('waiting', `another process uses the consumer "${name}"; waiting for it`, facts)
    void out.flush()
  }
  const lock = await lockConsumer(path, { onWait, onLost, signal: io.signal })
  try {
    const write = (place: ConsumerCursor): void => writeConsumer(path, place)
    const stored = readConsumer(path)
    return {
      stored,
      save: commit === 'emit' ? write : undefined,
      begin: commit === 'ack' && stored === undefined ? write : undefined,
      release: () => lock.release(),
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}

function readCursorFile(path: string): ConsumerCursor | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown'
    if (code === 'ENOENT') return undefined
    const hint = code === 'EISDIR' ? { hint: 'name a regular file in --cursor-file' } : {}
    throw new KimError('not_permitted', `cannot read ${path}: ${code}`, { cause: error, ...hint })
  }
  if (text === '') return undefined
  const token = parseCursorToken(text)
  if (token === undefined) throw usageError(`${path} does not hold a valid cursor`, REMOVE_CURSOR_FILE)
  return { ...token, checkpointSeq: 0 }
}
