/** This process: who it is, where its random names come from, and how much memory it keeps. */
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { setFlagsFromString } from 'node:v8'

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

/** Where unguessable names come from. */
export interface Random {
  /** `bytes` random bytes as lower-case hex. */
  hex(bytes: number): string
}

/** The system's random source. */
export const systemRandom: Random = { hex: bytes => randomBytes(bytes).toString('hex') }

/**
 * Has the heap of this process stay close to what is alive in it. A service that waits most of its life would
 * otherwise keep what its largest burst of mail took: V8 trades memory for speed that this service does not need. Both are
 * read whenever the heap is about to grow, so they may be set in a process that runs.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size')
  setFlagsFromString('--semi-space-growth-factor=1')
}
