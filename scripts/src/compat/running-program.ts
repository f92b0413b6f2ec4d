import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** The repository, seen from the compiled files in scripts/dist/compat. */
export const repositoryRoot: string = join(dirname(fileURLToPath(import.meta.url)), '../../..')

/** A store is made as a user without any setting would make it. */
function environment(home: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(KIM|KIJITO|XDG|NODE_OPTIONS)/i.test(name))
  return { ...Object.fromEntries(kept), HOME: home, XDG_STATE_HOME: join(home, 'state'), TZ: 'UTC' }
}

/** Runs a program of the repository to its end and returns its stdout and stderr. */
export function runProgramToEnd(
  home: string,
  program: string,
  args: readonly string[],
  codes: readonly number[] = [0],
): { readonly stdout: string; readonly stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(repositoryRoot, program), ...args], {
    encoding: 'utf8',
    env: environment(home),
    timeout: 60_000,
  })
  if (status === null || !codes.includes(status)) {
    throw new Error(`${program} ${args.join(' ')}: exit ${status}: ${stderr}`)
  }
  return { stdout, stderr }
}

/** What still runs when a step fails must not outlive it. */
const running = new Set<ChildProcessByStdio<Writable, Readable, Readable>>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** A program of the repository that goes on until it is stopped. */
export class RunningProgram {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #ended: Promise<number | string>
  #code: number | string | undefined
  stdout = ''
  stderr = ''

  constructor(home: string, program: string, args: readonly string[]) {
    this.#child = spawn(process.execPath, [join(repositoryRoot, program), ...args], {
      env: environment(home),
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    running.add(this.#child)
    this.#child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      this.stdout += chunk
    })
    this.#child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.stderr += chunk
    })
    this.#ended = new Promise(resolve => {
      this.#child.once('close', (code, signal) => {
        running.delete(this.#child)
        this.#code = code ?? signal ?? 'ended'
        resolve(this.#code)
      })
    })
  }

  say(line: string): void {
    this.#child.stdin.write(`${line}\n`)
  }

  /** Waits until something holds; fails after a minute, or when the program ended before. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + 60_000
    while (!holds()) {
      if (this.#code !== undefined || performance.now() > deadline) {
        throw new Error(`waited in vain for ${what} (${this.#code}): ${this.stderr}`)
      }
      await new Promise(resolve => setTimeout(resolve, 25))
    }
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> {
    this.#child.kill(signal)
    return await this.#ended
  }
}
