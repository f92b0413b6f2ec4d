import { spawn } from 'node:child_process'
import type { Moment } from './latency.js'
import { ended, scriptPath } from './writer-process.js'

/** Follows one file with `tail -F`, in a process of its own, until it is asked when each line came. */
export function followByTail(file: string): { arrivals(): Promise<readonly Moment[]> } {
  const child = spawn(process.execPath, [scriptPath('tail-listener.js'), file], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const output = ended(child)
  return {
    async arrivals() {
      child.stdin.end()
      const { code, stdout, stderr } = await output
      if (code !== 0) throw new Error(`who listened to tail ended with ${code}: ${stderr}`)
      return JSON.parse(stdout)
    },
  }
}
