import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'

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
 * `flock` of its own to try with, and trying would be asking for it.
 */
export function flockHolder(path: string): Process | undefined {
  try {
    const { dev, ino } = statSync(path)
    const device = [((dev >>> 8) & 0xfff).toString(16), (dev & 0xff).toString(16)].map(part =>
      part.padStart(2, '0'),
    )
    const place = `${device.join(':')}:${ino}`
    for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
      const [, kind, , , pid, where] = line.trim().split(/\s+/)
      if (kind === 'FLOCK' && where === place) return { pid: Number(pid), command: commandOf(Number(pid)) }
    }
  } catch {
    // There is no such file, or no such system.
  }
  return undefined
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
