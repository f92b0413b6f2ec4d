import { readFileSync } from 'node:fs'

/** States of `/proc/<pid>/stat` in which a process has ended: what is left of it waits for its parent to ask how. */
const ENDED = new Set(['Z', 'X', 'x'])

/**
 * Whether a process can still do anything. One that ended keeps its pid until its parent has waited for it, and may be
 * signalled all that time, so where the system tells the state of a process, that decides.
 */
export function isProcessAlive(pid: number): boolean {
  const state = stateOf(pid)
  if (state !== undefined) return !ENDED.has(state)
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process that may not be signalled is there.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** The letter that follows the command, which may hold spaces and parentheses itself. */
function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) || undefined
  } catch {
    return undefined
  }
}
