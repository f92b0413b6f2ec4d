import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute } from 'node:path'
import {
  controlPipe,
  controlSocketElsewhere,
  type Environment,
  KimError,
  type StorePaths,
  sha256Hex,
} from '@kim/manifest'
import { everyStep } from '../effects/every-step.js'
import { ANYBODY_BUT_OWNER, resolveExisting } from '../effects/system.js'

/** Where a producer of a store listens. */
export interface SocketPath {
  readonly path: string
  /** `store`: in `run/`. `elsewhere`: in a directory of its own, named in `run/`. `pipe`: in no directory at all. */
  readonly kind: 'store' | 'elsewhere' | 'pipe'
}

/** What the choice of a place rests on: by default those of this process. */
export interface SocketPathOptions {
  readonly platform?: NodeJS.Platform | undefined
  readonly env?: Environment | undefined
}

/** Bytes of a socket's path, its closing zero left out, that every platform of the kind takes. */
const PATH_BYTES_MAX: Readonly<Partial<Record<NodeJS.Platform, number>>> = { linux: 107, android: 107 }
const PATH_BYTES_MAX_ELSEWHERE = 103

const ID_DIGITS = 16

/** The place for a store, also for one that is only going to be there (CP-1 to CP-3). */
export function socketPathOf(
  paths: StorePaths,
  { platform = process.platform, env = process.env }: SocketPathOptions,
): SocketPath {
  const id = sha256Hex(resolveExisting(paths.root)).slice(0, ID_DIGITS)
  if (platform === 'win32') return { path: controlPipe(id), kind: 'pipe' }
  const max = PATH_BYTES_MAX[platform] ?? PATH_BYTES_MAX_ELSEWHERE
  if (Buffer.byteLength(paths.controlSocket) <= max) return { path: paths.controlSocket, kind: 'store' }
  const runtime = env['XDG_RUNTIME_DIR']
  const runtimeDir = runtime !== undefined && isAbsolute(runtime) ? runtime : tmpdir()
  const path = controlSocketElsewhere(runtimeDir, id)
  if (Buffer.byteLength(path) > max) {
    throw new KimError('config_invalid', `cannot create a control socket: the path is too long: ${path}`, {
      hint: 'give the store a shorter path, or set XDG_RUNTIME_DIR to a short one',
    })
  }
  return { path, kind: 'elsewhere' }
}

function refused(path: string, why: string): KimError {
  return new KimError('not_permitted', `${path}: ${why}`, {
    hint: 'it was left as it is; find out what created it, then move it away',
  })
}

/** Makes the directory of the socket. One that is there is checked first: another user could have made it (CP-2). */
function secureDirectory(path: string, uid: number | undefined): void {
  try {
    fs.mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  const stat = fs.lstatSync(path)
  if (!stat.isDirectory()) throw refused(path, 'it is not a directory')
  if (uid !== undefined && stat.uid !== uid) throw refused(path, `it belongs to user ${stat.uid}`)
  if (uid !== undefined && (stat.mode & ANYBODY_BUT_OWNER) !== 0)
    throw refused(path, 'other users can access it')
}

/** The kind of file at a path; undefined if there is none. */
function look(path: string): fs.Stats | undefined {
  return fs.lstatSync(path, { throwIfNoEntry: false })
}

/** Removes a socket that an earlier producer left; for the lock's holder alone (CP-5). */
function unlinkStale(path: string): void {
  const found = look(path)
  if (found === undefined) return
  if (!found.isSocket()) throw refused(path, 'it is not a socket')
  fs.unlinkSync(path)
}

/** Makes a place ready to be bound; the store's lock is held. */
export function prepareSocketPath(place: SocketPath, paths: StorePaths, uid: number | undefined): void {
  if (place.kind === 'pipe') return
  if (place.kind === 'elsewhere') secureDirectory(dirname(place.path), uid)
  unlinkStale(place.path)
  if (look(paths.controlPath) !== undefined) fs.unlinkSync(paths.controlPath)
  if (place.kind === 'store') return
  fs.writeFileSync(paths.controlPath, `${place.path}\n`, { mode: 0o600, flag: 'wx' })
}

/** Leaves nothing behind at a clean stop; the store's lock is still held. */
export function removeSocketPath(place: SocketPath, paths: StorePaths): void {
  if (place.kind === 'pipe') return
  const names = place.kind === 'store' ? [place.path] : [place.path, paths.controlPath]
  everyStep(...names.map(path => () => fs.rmSync(path, { force: true })))
  if (place.kind === 'store') return
  try {
    fs.rmdirSync(dirname(place.path))
  } catch {
    // It holds something else, so it is not ours to remove.
  }
}

const RECORDED_BYTES_MAX = 4096

/** Where a client looks, or undefined if no producer can be listening there (CP-4). */
function placeToAsk(paths: StorePaths, options: SocketPathOptions): string | undefined {
  try {
    const place = socketPathOf(paths, options)
    if (place.kind === 'pipe') return place.path
  } catch (error) {
    // A store that is not there has no producer; what is only too long for us may be recorded all the same.
    if (!(error instanceof KimError)) return undefined
  }
  const recorded = look(paths.controlPath)
  if (recorded === undefined) return paths.controlSocket
  // Opening a pipe would wait, and a file of another kind may not choose where a client connects.
  if (!recorded.isFile()) throw refused(paths.controlPath, 'it is not a regular file')
  const text = fs.readFileSync(paths.controlPath, 'utf8')
  const [line = ''] = text.slice(0, RECORDED_BYTES_MAX).split('\n', 1)
  return isAbsolute(line) ? line : undefined
}

/** The socket that a client may connect to, if there is one. Throws if it may be another user's (CP-4). */
export function socketToAsk(
  paths: StorePaths,
  uid: number | undefined,
  options: SocketPathOptions,
): string | undefined {
  const path = placeToAsk(paths, options)
  if (path === undefined || (options.platform ?? process.platform) === 'win32') return path
  const stat = look(path)
  if (stat === undefined) return undefined
  if (!stat.isSocket()) throw refused(path, 'it is not a socket')
  if (uid !== undefined && stat.uid !== uid)
    throw refused(path, `it belongs to user ${stat.uid}, not to ${uid}`)
  return path
}
