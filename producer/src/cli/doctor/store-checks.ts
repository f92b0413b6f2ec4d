import { chmodSync, existsSync, lstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { formatBytes, shellWord } from '@kim/cli-kit'
import { limits, parseSegmentName, type StorePaths, seqRoom } from '@kim/manifest'
import { isRepairable, verifyJournal } from '@kim/observer-sdk/verify'
import { ANYBODY_BUT_OWNER, STICKY, WRITABLE_BY_OTHERS } from '../../effects/system.js'
import { linkRemedy, ownerRemedy, WIDER_SEQ } from '../../journal/disk-errors.js'
import {
  accessError,
  andMore,
  type Check,
  type CheckResult,
  failing,
  fine,
  nearestExisting,
  unseen,
  warning,
} from './check.js'

const OWNER_READS = 0o400
const OWNER_WRITES = 0o200
const OWNER_LISTS = 0o500
const OWNER_ALL = 0o700
/** Enough to say what is wrong: a store may hold very many files. */
const ENTRIES_MAX = 20_000

/** Is there a store? */
const storeCheck: Check = {
  id: 'store',
  look: context => {
    const { root, events } = context.paths
    if (context.hasStore) return fine(root)
    const path = nearestExisting(events)
    if (!statSync(path).isDirectory())
      return failing(
        `cannot create the store ${root}: ${path} is not a directory`,
        `name another store with --store DIR, or move the file away: mv ${shellWord(path)} ${shellWord(`${path}.away`)}`,
      )
    return warning(
      `there is no store at ${root}`,
      `name another store with --store DIR, or create this one: ${context.starting('kim-producer run')}`,
    )
  },
}

/** Something wrong with a path of the store. */
interface Flaw {
  readonly path: string
  readonly why: string
  /** The mode that corrects it; undefined if a mode cannot. */
  readonly mode: number | undefined
  /** The owner, if it is another user. */
  readonly owner?: number
  readonly isDirectory?: boolean
}

/** Can only its owner read and write the store? */
const storeModesCheck: Check = {
  id: 'store-modes',
  look: context => {
    const { hasStore, paths } = context
    const uid = process.getuid?.()
    if (!hasStore) return unseen('there is no store')
    if (uid === undefined) return unseen('this platform has no file modes')
    const flaws: Flaw[] = []
    const seen = { count: 0 }
    inspect(paths.root, uid, flaws, seen)
    // Other files in the root are not ours.
    for (const path of [paths.events, paths.run]) if (existsSync(path)) walk(path, uid, flaws, seen)
    flaws.push(...unreadable(paths, uid))
    // Modes do not matter if another kind of file has the name.
    const first = misplaced(paths)[0] ?? flaws.find(({ mode }) => mode === undefined) ?? flaws[0]
    if (first === undefined) return fine(`${seen.count} files and directories, all of them private`)
    const { path, why, mode, owner, isDirectory } = first
    const others = flaws.filter(flaw => flaw.path !== path).length
    const evidence = `${path}: ${why}${andMore(others + 1)}`
    const word = shellWord(path)
    if (owner !== undefined) return failing(evidence, ownerRemedy(path, owner, uid, isDirectory === true))
    if (mode === undefined)
      return failing(
        evidence,
        path === paths.root
          ? linkRemedy(path)
          : `find out where it came from: ls -la ${word}; then move it away: mv ${word} ${shellWord(`${paths.root}.${basename(path)}`)}`,
      )
    const all = context.command('kim-producer doctor --fix')
    return failing(evidence, `chmod ${mode.toString(8)} ${word}   (all of them: ${all})`, () => {
      for (const flaw of flaws) if (flaw.mode !== undefined) chmodSync(flaw.path, flaw.mode)
    })
  },
}

/** Names in `run/` that belong to another kind of file. */
function misplaced({ run, lock, health, metrics, controlPath, controlSocket }: StorePaths): Flaw[] {
  if (accessError(run, 'rx') !== undefined) return []
  const flaw = (path: string, why: string, isRight: (stat: Stats) => boolean): Flaw[] => {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return stat === undefined || isRight(stat) ? [] : [{ path, why, mode: undefined }]
  }
  return [
    ...[lock, health, metrics, controlPath].flatMap(path =>
      flaw(path, 'not a regular file', stat => stat.isFile()),
    ),
    ...flaw(controlSocket, 'not a socket', stat => stat.isSocket()),
  ]
}

/** Files that their owner cannot open: a producer reads every segment, and appends to the newest one. */
function unreadable({ events, run, lock }: StorePaths, uid: number): Flaw[] {
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
    const verb = (stat.mode & OWNER_READS) === 0 ? 'read' : 'write'
    return [{ path, why: `${modeOf(stat)}: its owner cannot ${verb} it`, mode: 0o600 }]
  })
}

function walk(path: string, uid: number, flaws: Flaw[], seen: { count: number }): void {
  if (seen.count >= ENTRIES_MAX || !inspect(path, uid, flaws, seen)) return
  for (const name of readdirSync(path)) walk(join(path, name), uid, flaws, seen)
}

/** Adds what is wrong with a path. Returns whether it is a directory to look into: not one of another owner. */
function inspect(path: string, uid: number, flaws: Flaw[], seen: { count: number }): boolean {
  seen.count += 1
  const stat = lstatSync(path)
  const isDirectory = stat.isDirectory()
  if (stat.isSymbolicLink()) flaws.push({ path, why: 'a symbolic link', mode: undefined })
  else if (stat.uid !== uid)
    flaws.push({ path, why: `belongs to user ${stat.uid}`, mode: undefined, owner: stat.uid, isDirectory })
  else if (!isDirectory && !stat.isFile() && !stat.isSocket()) {
    flaws.push({ path, why: 'neither a file nor a directory', mode: undefined })
  } else if (isDirectory && (stat.mode & OWNER_LISTS) !== OWNER_LISTS) {
    flaws.push({ path, why: `${modeOf(stat)}: its owner cannot list it`, mode: 0o700 })
    return false
  } else if ((stat.mode & ANYBODY_BUT_OWNER) !== 0) {
    const mode = isDirectory ? 0o700 : 0o600
    flaws.push({ path, why: `other users can access it (${modeOf(stat)})`, mode })
  }
  return isDirectory && stat.uid === uid
}

function modeOf({ mode }: Pick<Stats, 'mode'>): string {
  return `mode ${(mode & 0o777).toString(8).padStart(4, '0')}`
}

/** Can its owner write to the store? If not, no producer can start, and a running one ends. */
const storeWritableCheck: Check = {
  id: 'store-writable',
  look: ({ hasStore, paths }) => {
    if (!hasStore) return checkCreatable(paths.root)
    const { root, events, checkpoints, archive, blobs, run } = paths
    const existing = [root, events, checkpoints, archive, blobs, run].filter(path => existsSync(path))
    for (const path of existing) {
      const why = accessError(path, 'wx')
      if (why !== undefined) return notWritable(path, why)
    }
    return fine(`${existing.length} directories, all writable`)
  },
}

/** Says what would keep a producer from creating the store. */
function checkCreatable(root: string): CheckResult {
  const path = nearestExisting(root)
  const stat = statSync(path)
  // The check `store` reports this.
  if (!stat.isDirectory()) return unseen('there is no store')
  const { uid: owner } = stat
  const uid = process.getuid?.()
  if (path === root && uid !== undefined && owner !== uid)
    return failing(
      `cannot create the store: ${root} belongs to user ${owner}, not to user ${uid}`,
      ownerRemedy(root, owner, uid, true),
    )
  const code = accessError(path, 'wx')
  if (code === undefined) return unseen('there is no store')
  if (path === root || code === 'EROFS' || uid === undefined) return notWritable(path, code)
  return failing(
    `cannot create the store: ${path} is not writable (${code})`,
    `name another store with --store DIR, or create this one: sudo install -d -m 700 -o ${uid} ${shellWord(root)}`,
  )
}

function notWritable(path: string, code: string): CheckResult {
  const evidence = `${path} is not writable: ${code}`
  const stat = statSync(path)
  const uid = process.getuid?.()
  if (code === 'EROFS')
    return failing(
      evidence,
      'its file system is read-only: find the cause with dmesg, mount it for writing, then start the producer again',
    )
  if (uid !== undefined && stat.uid !== uid) return failing(evidence, ownerRemedy(path, stat.uid, uid, true))
  const word = shellWord(path)
  const other = `its owner and mode are right; look for an ACL, a security policy or a read-only mount: getfacl ${word}; findmnt -T ${word}`
  if ((stat.mode & OWNER_ALL) === OWNER_ALL) return failing(evidence, other)
  return failing(`${evidence} (${modeOf(stat)})`, `chmod 700 ${word}`, () => chmodSync(path, OWNER_ALL))
}

/** Does no other user control the directories above the store? One who can write there can replace the store. */
const ancestorsCheck: Check = {
  id: 'ancestors',
  look: ({ paths }) => {
    const uid = process.getuid?.()
    if (uid === undefined) return unseen('this platform has no file modes')
    for (let path = dirname(paths.root); ; path = dirname(path)) {
      const stat = statSync(path, { throwIfNoEntry: false })
      if (stat !== undefined && stat.uid !== uid && stat.uid !== 0)
        return warning(
          `${path} belongs to user ${stat.uid}, who can replace the store`,
          'if you do not trust that user: stop the producer, move the store, and start with --store DIR',
        )
      const mode = stat?.mode ?? 0
      const chmod = stat?.uid === uid ? 'chmod' : 'sudo chmod'
      if ((mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0)
        return warning(`${path} is writable by other users`, `${chmod} go-w ${shellWord(path)}`)
      if (path === dirname(path)) return fine('no other user can write to the directories above the store')
    }
  },
}

/** To verify more than this takes longer than a person waits. */
const BYTES_MAX = 256 * 1024 ** 2

/** Is the journal whole: do segments, checkpoints and blobs agree? */
const journalCheck: Check = {
  id: 'journal',
  look: async context => {
    const { hasStore, paths, signal } = context
    const verify = context.command('kim-producer journal verify')
    if (!hasStore) return unseen('there is no store')
    const bytes = sizeOf(paths.events)
    if (bytes > BYTES_MAX)
      return unseen(
        `the journal has ${formatBytes(bytes)}; this check reads at most ${formatBytes(BYTES_MAX)}`,
        `run: ${verify}`,
      )
    const { exit, findings, hint } = await verifyJournal({ eventsDir: paths.events, signal })
    if (exit === 0) return fine(`${formatBytes(bytes)} checked`)
    // Findings without weight are notes, for example of what a repair explained.
    const wrong = Object.entries(findings).filter(([, { weight }]) => weight > 0)
    const kinds = wrong.map(([kind, { count }]) => `${kind} × ${count}`)
    const helps = wrong.length === 0 || wrong.some(([kind]) => isRepairable(kind))
    const next = helps
      ? `find the damage: ${verify}; then: ${context.command('kim-producer journal repair')} --dry-run`
      : `see the damaged files: ${verify}. No repair can undo this. Stop the producer, restore these files from a backup, then start it again. If you have no backup, the producer can continue, but verify keeps reporting the damage`
    return failing(
      exit === 5 ? `records are missing: ${kinds.join(', ')}` : `damaged: ${kinds.join(', ') || hint}`,
      next,
    )
  },
}

function sizeOf(directory: string): number {
  return readdirSync(directory, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(directory, entry.name)
    return sum + (entry.isDirectory() ? sizeOf(path) : (statSync(path, { throwIfNoEntry: false })?.size ?? 0))
  }, 0)
}

/** Are there sequence numbers left for records? */
const seqRoomCheck: Check = {
  id: 'numbers',
  look: async context => {
    const head = (await context.observer())?.head.seq
    if (head === undefined) return unseen('there is no store')
    const evidence = `${head} of ${limits.seqMax} are used`
    if (seqRoom(head) === 'plenty') return fine(evidence)
    return warning(evidence, `the last seq is ${limits.seqMax}; before that, ${WIDER_SEQ}`)
  },
}

/** Checks of the store. */
export const storeChecks: readonly Check[] = [
  storeCheck,
  storeModesCheck,
  storeWritableCheck,
  ancestorsCheck,
  journalCheck,
  seqRoomCheck,
]
