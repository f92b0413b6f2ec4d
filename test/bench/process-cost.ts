import { readFileSync } from 'node:fs'

/** What a process has used so far, and holds now. */
export interface ProcessCost {
  readonly cpuMs: number
  readonly residentMb: number
  /** The most it ever held. */
  readonly peakMb: number
}

/** One tick of the kernel's accounting, in ms: what Linux tells user space on every platform Node runs on. */
const TICK_MS = 10

/** What the kernel says of a process; undefined where there is no such file. */
export function processCost(pid: number | undefined): ProcessCost | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the command may hold anything, a parenthesis included.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const mb = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
    return {
      cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS,
      residentMb: mb('VmRSS'),
      peakMb: mb('VmHWM'),
    }
  } catch {
    return undefined
  }
}
