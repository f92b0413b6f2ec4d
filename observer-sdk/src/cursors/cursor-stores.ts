/** Where a client keeps its cursor: in memory, in a host's key-value storage, or in files. */
import { createHash } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { type FileHandle, open, readFile, rename, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  type AsyncReplaceDisk,
  type Cursor,
  cursorKey,
  formatCursor,
  KimError,
  replaceFileAsync,
} from '@kim/manifest'

/** Storage of one client. Both calls may answer at once or with a promise. */
export interface CursorStore {
  /** The cursor of this project, `undefined` if the client has none. Anything else than a cursor is refused. */
  load(projectId: string): unknown
  save(projectId: string, cursor: Cursor): unknown
  /** Directory the cursors are written to, so that an observer can refuse one inside the store it observes. */
  readonly directory?: string
}

/**
 * Cursors that live as long as the object: for hosts that only show the present, and for tests.
 *
 * @example
 * const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
 */
export function memoryCursors(): CursorStore {
  const cursors = new Map<string, Cursor>()
  return {
    load: projectId => cursors.get(projectId),
    save: (projectId, cursor) => {
      cursors.set(projectId, cursor)
    },
  }
}

/** The part of VS Code's `Memento` that is used; `workspaceState` fits, and so does any key-value store. */
export interface MementoLike {
  get(key: string): unknown
  update(key: string, value: unknown): PromiseLike<void>
}

/**
 * Cursors in a host's key-value storage.
 *
 * @example
 * const cursors = mementoCursors(context.workspaceState)
 */
export function mementoCursors(memento: MementoLike): CursorStore {
  return {
    load: projectId => memento.get(cursorKey(projectId)),
    save: (projectId, cursor) => memento.update(cursorKey(projectId), cursor),
  }
}

/** Names that are the same file on every system. */
const PLAIN = /^[a-z0-9_-]{1,100}$/

/**
 * Cursors in files of a client-private directory, one per project, replaced atomically.
 *
 * @example
 * const cursors = fileCursors(join(homedir(), '.local/state/kim/clients/status-bar'))
 */
export function fileCursors(directory: string): CursorStore {
  const fileOf = (projectId: string): string => {
    const name = PLAIN.test(projectId) ? projectId : createHash('sha256').update(projectId).digest('hex')
    return join(directory, `${cursorKey(name)}.json`)
  }
  return {
    directory,
    async load(projectId) {
      const text = await readFile(fileOf(projectId), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined
        throw error
      })
      if (text === undefined) return undefined
      try {
        return JSON.parse(text) as unknown
      } catch (cause) {
        const message = `${fileOf(projectId)} does not hold a valid cursor; it was left as it is`
        throw new KimError('cursor_invalid', message, { cause })
      }
    },
    async save(projectId, cursor) {
      makeDirectory(directory)
      const target = fileOf(projectId)
      // Several saves may be under way at once, so each has a draft of its own.
      drafts += 1
      const draft = `${target}.${process.pid}-${drafts}.tmp`
      await replaceFileAsync(disk, { target, draft, chunks: [Buffer.from(formatCursor(cursor))] })
    },
  }
}

const disk: AsyncReplaceDisk<FileHandle> = {
  create: path => open(path, 'wx', 0o600),
  write: async (file, bytes) => (await file.write(bytes)).bytesWritten,
  sync: file => file.datasync(),
  close: file => file.close(),
  rename,
  remove: unlink,
}

let drafts = 0

/**
 * Makes a directory, for its owner alone, and the directories around it. Node's own recursive `mkdir` tries for ever where a
 * parent exists and nothing can be made in it, as below `/proc`.
 */
export function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return
  const parent = dirname(path)
  if (parent !== path) makeDirectory(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process was faster.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
