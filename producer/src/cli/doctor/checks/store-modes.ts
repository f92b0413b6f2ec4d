import { chmodSync, existsSync, lstatSync, readdirSync, type Stats } from 'node:fs'
import { basename, join } from 'node:path'
import { shellWord } from '@kim/cli-kit'
import { parseSegmentName, type StorePaths } from '@kim/manifest'
import { ownerRemedy } from '../../../journal/failure.js'
import { type Check, type CheckResult, fine, unseen } from '../check.js'
import { accessError } from '../path-access.js'

const OTHERS = 0o077
const OWNER_READS = 0o400
const OWNER_WRITES = 0o200
const OWNER_LOOKS = 0o500
/** Enough to say what is wrong; a store may hold a great many files. */
const ENTRIES_MAX = 20_000

interface Flaw {
  readonly path: string
  readonly why: string
  readonly mode: number | undefined
  /** Whose it is, where that is not who asks. */
  readonly owner?: number
  readonly isDirectory?: boolean
}

/** Nobody else may read mail, or put a file in a store's place. */
export const storeModesCheck: Check = {
  id: 'store-modes',
  about: 'only its owner can read and write the store',
  look: context => {
    const { hasStore, paths } = context
    const uid = process.getuid?.()
    if (!hasStore) return unseen('there is no store')
    if (uid === undefined) return unseen('this platform has no file modes')
    const flaws: Flaw[] = []
    const seen = { count: 0 }
    judge(paths.root, uid, flaws, seen)
    // What else stands in the directory is not ours, and nothing is done to it.
    for (const path of [paths.events, paths.run]) if (existsSync(path)) walk(path, uid, flaws, seen)
    flaws.push(...shut(paths, uid))
    // A mode does not matter where something else stands than what belongs there.
    const first = misplaced(paths)[0] ?? flaws.find(({ mode }) => mode === undefined) ?? flaws[0]
    if (first === undefined) return fine(`${seen.count} files and directories, all of them private`)
    return judged(paths.root, first, flaws, uid, context.command('kim-producer doctor --fix'))
  },
}

/** What `run/` has under a name that another kind of file belongs to. */
function misplaced({ run, lock, health, metrics, controlPath, controlSocket }: StorePaths): Flaw[] {
  if (accessError(run, 'rx') !== undefined) return []
  const files = [lock, health, metrics, controlPath].flatMap(path => {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return stat === undefined || stat.isFile() ? [] : [{ path, why: 'not a regular file', mode: undefined }]
  })
  const socket = lstatSync(controlSocket, { throwIfNoEntry: false })
  const isSocket = socket === undefined || socket.isSocket()
  return isSocket ? files : [...files, { path: controlSocket, why: 'not a socket', mode: undefined }]
}

/** Files of its owner that a producer could not open: it reads every one of `events/`, and appends to the newest segment. */
function shut({ events, run, lock }: StorePaths, uid: number): Flaw[] {
  const names = accessError(events, 'rx') === undefined ? readdirSync(events) : []
  const segments = names.filter(name => parseSegmentName(name) !== undefined)
  const newest = segments.sort((a, b) => (parseSegmentName(a) ?? 0) - (parseSegmentName(b) ?? 0)).at(-1)
  const locks = accessError(run, 'rx') === undefined ? [lock] : []
  return [...segments.map(name => join(events, name)), ...locks].flatMap(path => {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat?.isFile() !== true || stat.uid !== uid) return []
    const isWritten = path === lock || basename(path) === newest
    const needed = OWNER_READS | (isWritten ? OWNER_WRITES : 0)
    if ((stat.mode & needed) === needed) return []
    const why = `${modeOf(stat)}: its owner cannot ${(stat.mode & OWNER_READS) === 0 ? 'read' : 'write'} it`
    return [{ path, why, mode: 0o600 }]
  })
}

function judged(root: string, first: Flaw, flaws: readonly Flaw[], uid: number, fix: string): CheckResult {
  const others = flaws.filter(({ path }) => path !== first.path).length
  const more = others > 0 ? `, and ${others} more` : ''
  const evidence = `${first.path}: ${first.why}${more}`
  if (first.mode === undefined) {
    return {
      status: 'fail',
      evidence,
      remedy:
        first.owner === undefined
          ? `find out where it came from: ls -la ${shellWord(first.path)}; then move it away: mv ${shellWord(first.path)} ${shellWord(`${root}.${basename(first.path)}`)}`
          : ownerRemedy(first.path, first.owner, uid, first.isDirectory === true),
    }
  }
  return {
    status: 'fail',
    evidence,
    remedy: `chmod ${first.mode.toString(8)} ${shellWord(first.path)}   (all of them: ${fix})`,
    fix: () => {
      for (const { path, mode } of flaws) if (mode !== undefined) chmodSync(path, mode)
    },
  }
}

function walk(path: string, uid: number, flaws: Flaw[], seen: { count: number }): void {
  if (seen.count >= ENTRIES_MAX) return
  const isDirectory = judge(path, uid, flaws, seen)
  if (isDirectory) for (const name of readdirSync(path)) walk(join(path, name), uid, flaws, seen)
}

/** Adds what is wrong with a path; says whether it is a directory to look into: in another owner's, all is theirs. */
function judge(path: string, uid: number, flaws: Flaw[], seen: { count: number }): boolean {
  seen.count += 1
  const stat = lstatSync(path)
  const isDirectory = stat.isDirectory()
  if (stat.isSymbolicLink()) flaws.push({ path, why: 'a symbolic link', mode: undefined })
  else if (stat.uid !== uid)
    flaws.push({ path, why: `belongs to user ${stat.uid}`, mode: undefined, owner: stat.uid, isDirectory })
  else if (!isDirectory && !stat.isFile() && !stat.isSocket()) {
    flaws.push({ path, why: 'neither a file nor a directory', mode: undefined })
  } else if (isDirectory && (stat.mode & OWNER_LOOKS) !== OWNER_LOOKS) {
    flaws.push({ path, why: `${modeOf(stat)}: its owner cannot list it`, mode: 0o700 })
    return false
  } else if ((stat.mode & OTHERS) !== 0) {
    flaws.push({ path, why: modeOf(stat), mode: isDirectory ? 0o700 : 0o600 })
  }
  return isDirectory && stat.uid === uid
}

function modeOf({ mode }: Stats): string {
  return `mode ${(mode & 0o777).toString(8).padStart(4, '0')}`
}
