import { isAbsolute, join } from 'node:path'
import { invariant, KimError } from './errors.js'
import { actionClasses } from './generated/action-classes.js'
import { isSha256 } from './json.js'
import { limits } from './limits.js'

const pad = actionClasses.segment_pad
invariant(limits.seqMax === 10 ** pad - 1, 'the last seq fills the digits of a segment name')

const segmentText = new RegExp(`^seg-([0-9]{${pad}})\\.jsonl$`)
const archivedText = new RegExp(`^seg-([0-9]{${pad}})\\.jsonl(\\.gz)?$`)
const checkpointText = new RegExp(`^ckpt-([0-9]{${pad}})\\.json$`)

function padded(seq: number): string {
  if (!Number.isSafeInteger(seq) || seq < 1)
    throw new KimError('name_invalid', `${seq} cannot name a file: it is no seq`)
  if (seq > limits.seqMax) throw new KimError('seq_exhausted', `${seq} does not fit ${pad} digits`)
  return String(seq).padStart(pad, '0')
}

function numberIn(match: RegExpExecArray | null): number | undefined {
  const number = Number(match?.[1] ?? 0)
  return number >= 1 ? number : undefined
}

/** The name of the segment that may hold `seq` first. */
export function segmentName(seq: number): string {
  return `seg-${padded(seq)}.jsonl`
}

/** The number in a legal segment name. */
export function parseSegmentName(name: string): number | undefined {
  return numberIn(segmentText.exec(name))
}

/** True for a name in `events/` that looks like a segment's and is not legal. */
export function isMisnamedSegment(name: string): boolean {
  return name.startsWith('seg-') && name.includes('.jsonl') && parseSegmentName(name) === undefined
}

/** A segment in `archive/`, plain or gzipped. */
export interface ArchivedSegment {
  readonly first: number
  readonly gzipped: boolean
}

/** What a legal name in `archive/` says. */
export function parseArchivedSegmentName(name: string): ArchivedSegment | undefined {
  const match = archivedText.exec(name)
  const first = numberIn(match)
  return first === undefined ? undefined : { first, gzipped: match?.[2] !== undefined }
}

/** The name of an archived segment. */
export function archivedSegmentName(segment: ArchivedSegment): string {
  return `${segmentName(segment.first)}${segment.gzipped ? '.gz' : ''}`
}

/** The name of the checkpoint that covers everything up to `headSeq`. */
export function checkpointName(headSeq: number): string {
  return `ckpt-${padded(headSeq)}.json`
}

/** The head seq in a legal checkpoint name. */
export function parseCheckpointName(name: string): number | undefined {
  return numberIn(checkpointText.exec(name))
}

/** The name under which a file is written before it is renamed to `name`; no reader ever takes it. */
export function tempName(name: string): string {
  return `.${name}.tmp`
}

/** The name that a file with a temporary name would have got. */
export function parseTempName(name: string): string | undefined {
  return /^\.(.+)\.tmp$/s.exec(name)?.[1]
}

/** The path in `blobs/` of the blob with this hash. */
export function blobPath(sha256: string): string {
  if (!isSha256(sha256)) throw new KimError('name_invalid', 'a blob is named by 64 lower-case hex digits')
  return join(sha256.slice(0, 2), sha256)
}

/** True for the name of a directory that `blobs/` is divided into. */
export function isBlobDirectory(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name)
}

/** The paths in a directory of events: all that an observer reads. */
export interface EventsPaths {
  readonly events: string
  readonly meta: string
  readonly checkpoints: string
  readonly archive: string
  readonly blobs: string
  readonly quarantine: string
}

/** The paths in a store. */
export interface StorePaths extends EventsPaths {
  readonly root: string
  readonly run: string
  readonly lock: string
  readonly controlSocket: string
  /** Holds the path of the control socket where that is another one. */
  readonly controlPath: string
  readonly health: string
  readonly metrics: string
}

/** The paths below a directory of events. */
export function eventsPaths(events: string): EventsPaths {
  return {
    events,
    meta: join(events, 'meta.json'),
    checkpoints: join(events, 'checkpoints'),
    archive: join(events, 'archive'),
    blobs: join(events, 'blobs'),
    quarantine: join(events, 'quarantine'),
  }
}

/** The paths below a store. */
export function storePaths(root: string): StorePaths {
  const run = join(root, 'run')
  return {
    ...eventsPaths(join(root, 'events')),
    root,
    run,
    lock: join(run, 'lock'),
    controlSocket: join(run, 'control.sock'),
    controlPath: join(run, 'control.path'),
    health: join(run, 'health.json'),
    metrics: join(run, 'metrics.prom'),
  }
}

/** Where the control socket is if its path below the store is too long; `id` tells one store from another. */
export function controlSocketElsewhere(runtimeDir: string, id: string): string {
  return join(runtimeDir, `kim-${id}`, 'control.sock')
}

/** The name of the control pipe of a store, where the platform has pipes for sockets. */
export function controlPipe(id: string): string {
  return `\\\\.\\pipe\\kim-${id}`
}

/** The variables of a process that say where state belongs. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Where this user's state belongs; a relative `XDG_STATE_HOME` counts for nothing. */
export function defaultStateHome(env: Environment, home: string): string {
  const chosen = env['XDG_STATE_HOME']
  return chosen !== undefined && isAbsolute(chosen) ? chosen : join(home, '.local', 'state')
}

/** The store that is used when none is named. */
export function defaultStore(env: Environment, home: string): string {
  return join(defaultStateHome(env, home), 'kim', 'stores', 'default')
}

/** Where one client keeps what is its own: never in a store. */
export function clientState(env: Environment, home: string, client: string): string {
  const legal = /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(client)
  if (!legal) throw new KimError('name_invalid', 'a client name may hold only letters, digits and "._-"')
  return join(defaultStateHome(env, home), 'kim', 'clients', client)
}

/** The key under which a host keeps an observer's cursor. */
export function cursorKey(projectId: string): string {
  return `kim.observer.cursor.${projectId}`
}
