import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const bin = join(
  dirname(fileURLToPath(import.meta.url)),
  '..',
  '..',
  '..',
  'producer',
  'bin',
  'kim-producer.js',
)

/** A path for a store that is not there yet and goes away with its test. */
export function newStore(t: Test): string {
  const home = mkdtempSync(join(tmpdir(), 'kim-run-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  return join(home, 'store')
}

/** Every record of a store, in file order. */
export function recordsOf(store: string): Record<string, unknown>[] {
  const events = join(store, 'events')
  if (!existsSync(events)) return []
  return readdirSync(events)
    .filter(name => name.startsWith('seg-'))
    .sort()
    .flatMap(name => readFileSync(join(events, name), 'utf8').split('\n').slice(0, -1))
    .map(line => JSON.parse(line) as Record<string, unknown>)
}

/** The kinds of the notes in a store. */
export function notesOf(store: string): unknown[] {
  return recordsOf(store)
    .filter(({ action }) => action === 'journal_note')
    .map(({ item_id }) => item_id)
}

/** One `kim-producer`, as a process of its own. It ends with its test at the latest. */
export class ProducerProcess {
  readonly child: ChildProcess
  out = ''
  err = ''
  readonly ended: Promise<number | NodeJS.Signals | null>
  #onText: () => void = () => undefined

  constructor(t: Test, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const own = { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', ...env }
    this.child = spawn(process.execPath, [bin, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env: own })
    t.teardown(async () => {
      this.child.kill('SIGKILL')
      // Its store is removed next.
      await this.ended
    })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.out += text
    })
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.err += text
      this.#onText()
    })
    this.ended = new Promise(resolve => this.child.on('close', (code, signal) => resolve(signal ?? code)))
  }

  /** The log so far, without a line of which only a part was read. */
  get log(): Record<string, unknown>[] {
    return this.err
      .split('\n')
      .slice(0, -1)
      .filter(line => line.startsWith('{'))
      .map(line => JSON.parse(line) as Record<string, unknown>)
  }

  /** Waits until a line with this code stands in the log; rejects if the process ends before. */
  async logged(code: string): Promise<void> {
    const isThere = (): boolean => this.log.some(line => line['code'] === code)
    await Promise.race([
      new Promise<void>(resolve => {
        this.#onText = () => {
          if (isThere()) resolve()
        }
        this.#onText()
      }),
      this.ended.then(end => {
        if (!isThere()) throw new Error(`it ended with ${end} and never said ${code}: ${this.err}`)
      }),
    ])
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }
}
