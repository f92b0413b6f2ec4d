import * as fs from 'node:fs'

/** Who this process is, as far as the store has to know. */
export interface Host {
  readonly pid: number
  /** The owner every store file must have; undefined where the platform has no such number. */
  readonly uid: number | undefined
  /** Tells two processes that got the same pid apart. */
  readonly startKey: string
  readonly node: string
  readonly platform: string
}

/**
 * What tells a process from every other that had or will have its pid; undefined where the system does not say, or
 * there is no such process. Field 22 of `/proc/<pid>/stat` is the start time in clock ticks since boot; with the boot id it names one
 * process for good. The command in field 2 may hold spaces and parentheses, so counting starts after the last
 * one.
 */
export function startKeyOf(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    const boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return ticks === undefined ? undefined : `${boot}:${ticks}`
  } catch {
    return undefined
  }
}

/** The running process. */
export function currentHost(): Host {
  return {
    pid: process.pid,
    uid: process.getuid?.(),
    startKey: startKeyOf(process.pid) ?? `origin:${Math.round(performance.timeOrigin)}`,
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
  }
}
