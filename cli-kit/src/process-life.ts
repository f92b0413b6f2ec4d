import { readFileSync } from 'node:fs'

/** States in `/proc/<pid>/stat` of a process that has ended: zombie or dead. */
const ENDED = new Set(['Z', 'X', 'x'])

/**
 * Whether a process is running. A zombie keeps its pid and accepts signals until its parent waits for it, so the state
 * of the process decides, on systems that show it.
 */
export function isProcessAlive(pid: number): boolean {
  const state = stateOf(pid)
  if (state !== undefined) return !ENDED.has(state)
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process that we may not signal exists.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** The letter after the command, which may hold spaces and parentheses itself. */
function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) || undefined
  } catch {
    return undefined
  }
}
