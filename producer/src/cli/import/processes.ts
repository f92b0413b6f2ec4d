import { type BigIntStats, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'

/** A process of this machine, as far as the system tells. */
export interface Process {
  readonly pid: number
  /** Its words. */
  readonly command: readonly string[]
}

/** Who has a file open; empty where the system does not tell. */
export function whoHasOpen(path: string): Process[] {
  return numbersIn('/proc').flatMap(pid => {
    if (pid === process.pid || !fdsOf(pid).includes(path)) return []
    return [{ pid, command: commandOf(pid) }]
  })
}

/**
 * The process that holds a `flock` on a file, undefined if there is none or the system does not tell. Node has no
 * `flock` of its own to try with, and trying would be asking for it. `locks`: what the system says of all locks.
 */
export function flockHolder(path: string, locks: string = locksOfAll()): Process | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (stat === undefined) return undefined
  for (const line of locks.split('\n')) {
    const [, kind, , , pid, where = ''] = line.trim().split(/\s+/)
    const [major, minor, ino] = where.split(':')
    if (kind !== 'FLOCK' || ino !== String(stat.ino)) continue
    // Where a file system has several devices, as btrfs has, the one that is named is not the one of the file.
    const isHere = `${major}:${minor}` === deviceOf(stat.dev) || hasOpen(Number(pid), stat)
    if (isHere) return { pid: Number(pid), command: commandOf(Number(pid)) }
  }
  return undefined
}

function locksOfAll(): string {
  try {
    return readFileSync('/proc/locks', 'utf8')
  } catch {
    return ''
  }
}

/** A device as the kernel prints it: both of its numbers stand in two parts in what `stat` gives. */
export function deviceOf(dev: bigint): string {
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn)
  const minor = (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n)
  return [major, minor].map(part => part.toString(16).padStart(2, '0')).join(':')
}

function hasOpen(pid: number, { dev, ino }: BigIntStats): boolean {
  return numbersIn(`/proc/${pid}/fd`).some(fd => {
    try {
      const stat = statSync(`/proc/${pid}/fd/${fd}`, { bigint: true })
      return stat.dev === dev && stat.ino === ino
    } catch {
      return false
    }
  })
}

function fdsOf(pid: number): string[] {
  return numbersIn(`/proc/${pid}/fd`).flatMap(fd => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch {
      return []
    }
  })
}

function commandOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
  } catch {
    return []
  }
}

function numbersIn(directory: string): number[] {
  try {
    return readdirSync(directory).map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}
