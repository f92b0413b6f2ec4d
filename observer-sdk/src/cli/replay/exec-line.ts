import { spawn } from 'node:child_process'
import { KimError } from '@kim/manifest'

/** Gives one line to a command on its stdin, and waits until it has ended well. What it prints goes to stderr. */
export function execLine(
  command: string,
  line: Uint8Array,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, env: { ...env }, stdio: ['pipe', 2, 2], signal })
    const refuse = (why: string): void =>
      reject(
        new KimError('exec_failed', `the command ${why}`, {
          hint: 'nothing was kept: play it again from there with --from-seq',
        }),
      )
    child.on('error', error => {
      if (signal.aborted) reject(signal.reason)
      else refuse(error.message)
    })
    child.on('close', (code, killedBy) => {
      if (code === 0) resolve()
      else if (signal.aborted) reject(signal.reason)
      else refuse(code === null ? `was ended by ${killedBy}` : `exited with ${code}`)
    })
    // A command need not read what it is given.
    child.stdin?.on('error', () => {})
    child.stdin?.end(Buffer.concat([line, Buffer.from('\n')]))
  })
}
