import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)

/** How long a part may take to end before it is ended. */
const PATIENCE_MS = 3000

/** A file of one of our packages, wherever that is installed. */
export function fileOf(name: string, path: string): string {
  return join(dirname(require.resolve(`${name}/package.json`)), path)
}

/** One process of the hive. */
export class Part {
  readonly name: string
  readonly child: ChildProcess
  /** Settles with the exit code, or the signal's name. */
  readonly ended: Promise<number | string>
  #isTold = false

  /**
   * `stdin` is a pipe that closes with us; `shown` gives the part our own stdout. It is a group of its own, so that
   * Ctrl-C reaches us alone and the parts end in their order.
   */
  constructor(name: string, script: string, args: readonly string[], shown = false) {
    this.name = name
    this.child = spawn(process.execPath, [script, ...args], {
      stdio: ['pipe', shown ? 'inherit' : 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
    })
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject)
      this.child.once('close', (code, signal) => resolve(signal ?? code ?? 1))
    })
  }

  /** Lines of one of its streams, as they come. */
  onLine(stream: 'stdout' | 'stderr', take: (line: string) => void): void {
    let rest = ''
    this.child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) take(line)
    })
  }

  /** Whether its end was asked for. */
  get isTold(): boolean {
    return this.#isTold
  }

  /** Tells it to end and waits until it has. */
  async end(): Promise<number | string> {
    this.#isTold = true
    this.child.kill('SIGTERM')
    const timer = setTimeout(() => this.child.kill('SIGKILL'), PATIENCE_MS)
    try {
      return await this.ended
    } finally {
      clearTimeout(timer)
    }
  }
}
