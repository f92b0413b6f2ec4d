import {
  type BigIntStats,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { shellWord } from '@kim/cli-kit'
import { ANYBODY_BUT_OWNER } from '../../effects/system.js'
import { olderFileName } from '../../sinks/file-sink.js'

/** An event file of the older monitor, and the processes that follow it. */
export interface OlderEventFile {
  readonly path: string
  /** The flag with which `run` continues the file, quoted. */
  readonly flag: string
  /** Undefined on systems that do not show it. */
  readonly followers: readonly Process[] | undefined
  /** Other users can read it, until the producer appends to it. */
  readonly isOpenToOthers: boolean
}

const PLACEHOLDER = '{persona}'

/** The default paths of the older monitor, in the home directory. */
const USUAL = [
  ['.cache', 'kijito-inbox-monitor', `events.${PLACEHOLDER}.ndjson`],
  ['.kijito-monitor', `${PLACEHOLDER}.jsonl`],
  ['.local', 'state', 'kijito-inbox-monitor', `events.${PLACEHOLDER}.ndjson`],
]

/** Whether the path is one file for all inboxes. */
export function isForAll(eventsFile: string): boolean {
  return !eventsFile.includes(PLACEHOLDER)
}

/** The existing event files of a persona: at the given file or template, else at the default paths. */
export function olderEventFiles(
  persona: string,
  home: string,
  eventsFile: string | undefined,
): OlderEventFile[] {
  const templates = eventsFile === undefined ? USUAL.map(parts => join(home, ...parts)) : [eventsFile]
  return templates
    .map(template => ({ template, path: template.replaceAll(PLACEHOLDER, olderFileName(persona)) }))
    .filter(({ path }) => existsSync(path))
    .map(({ template, path }) => ({
      path,
      flag: `${isForAll(template) ? '--events-file' : '--events-file-template'} ${shellWord(template)}`,
      followers: whoHasOpen(realpathSync(path)),
      isOpenToOthers: process.getuid !== undefined && (statSync(path).mode & ANYBODY_BUT_OWNER) !== 0,
    }))
}

interface Process {
  readonly pid: number
  /** The words of its command line. */
  readonly command: readonly string[]
}

/** The processes that have a file open; undefined on systems that do not show it. */
function whoHasOpen(path: string): Process[] | undefined {
  if (!existsSync('/proc/self/fd')) return undefined
  return numbersIn('/proc').flatMap(pid => {
    if (pid === process.pid || !fdsOf(pid).includes(path)) return []
    return [{ pid, command: commandOf(pid) }]
  })
}

/**
 * The process that holds a `flock` on a file. Undefined if there is none, or on systems that do not show it. Node has
 * no `flock` to try. `locks` is the system's list of all locks.
 */
export function flockHolder(
  path: string,
  locks: string = readOr('', () => readFileSync('/proc/locks', 'utf8')),
): Process | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (stat === undefined) return undefined
  for (const line of locks.split('\n')) {
    const [, kind, , , pid, where = ''] = line.trim().split(/\s+/)
    const [major, minor, ino] = where.split(':')
    if (kind !== 'FLOCK' || ino !== String(stat.ino)) continue
    // A file system with several devices, such as btrfs, lists another device than the file's.
    const isHere = `${major}:${minor}` === deviceOf(stat.dev) || hasOpen(Number(pid), stat)
    if (isHere) return { pid: Number(pid), command: commandOf(Number(pid)) }
  }
  return undefined
}

/** A device as the kernel prints it. `stat` returns each of its two numbers in two parts. */
export function deviceOf(dev: bigint): string {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn)
  const minor = (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n)
  return [major, minor].map(part => part.toString(16).padStart(2, '0')).join(':')
}

function hasOpen(pid: number, { dev, ino }: BigIntStats): boolean {
  return numbersIn(`/proc/${pid}/fd`).some(fd => {
    const stat = readOr(undefined, () => statSync(`/proc/${pid}/fd/${fd}`, { bigint: true }))
    return stat?.dev === dev && stat.ino === ino
  })
}

function fdsOf(pid: number): string[] {
  return numbersIn(`/proc/${pid}/fd`).flatMap(fd => readOr([], () => [readlinkSync(`/proc/${pid}/fd/${fd}`)]))
}

function commandOf(pid: number): string[] {
  return readOr([], () => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1))
}

function numbersIn(directory: string): number[] {
  return readOr([], () => readdirSync(directory).map(Number).filter(Number.isInteger))
}

/** A process may end while it is looked at, and most of `/proc` belongs to other users. */
function readOr<T>(otherwise: T, read: () => T): T {
  try {
    return read()
  } catch {
    return otherwise
  }
}
