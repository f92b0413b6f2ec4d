import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'

const MAIN = join(
  dirname(createRequire(import.meta.url).resolve('@kim/example-kijito-sim/package.json')),
  'dist/main.js',
)

interface Reply {
  readonly id?: number
  readonly ok?: boolean
  readonly result?: unknown
  readonly error?: string
  readonly url?: string
}

/** The simulator as a process of its own, so that nothing this process does can hold it up. */
export class SimulatorProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #waiting = new Map<number, (reply: Reply) => void>()
  #ready: (url: string) => void = () => undefined
  #rest = ''
  #commands = 0
  /** Where it serves, once it does. */
  readonly url: Promise<string>

  constructor(flags: readonly string[] = []) {
    const port = flags.includes('--port') ? [] : ['--port', '0']
    const args = [MAIN, ...port, '--stdin', ...flags]
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.url = new Promise((resolve, reject) => {
      this.#ready = resolve
      this.#child.once('error', reject)
    })
    this.#child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (this.#rest + chunk).split('\n')
      this.#rest = lines.pop() ?? ''
      for (const line of lines) this.#heard(JSON.parse(line) as Reply)
    })
  }

  /** Has it do something; gives what came of it. */
  async tell(command: object): Promise<unknown> {
    const id = ++this.#commands
    const reply = await new Promise<Reply>(resolve => {
      this.#waiting.set(id, resolve)
      this.#child.stdin.write(`${JSON.stringify({ ...command, id })}\n`)
    })
    if (reply.ok !== true) throw new Error(reply.error)
    return reply.result
  }

  /** Ends it: it goes when nobody can tell it anything any more. */
  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const closed = new Promise(resolve => this.#child.once('close', resolve))
    this.#child.stdin.end()
    await closed
  }

  /** Ends it without a word to anybody. */
  async kill(): Promise<void> {
    const closed = new Promise(resolve => this.#child.once('close', resolve))
    this.#child.kill('SIGKILL')
    await closed
  }

  #heard(reply: Reply): void {
    if (reply.url !== undefined) this.#ready(reply.url)
    else if (reply.id !== undefined) {
      this.#waiting.get(reply.id)?.(reply)
      this.#waiting.delete(reply.id)
    }
  }
}
