import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Ledger } from './ledger.js'
import { type Orders, type Said, sharedMs } from './protocol.js'

const script = join(dirname(fileURLToPath(import.meta.url)), 'writer.js')

/** How a process ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly complaint: string
}

const alive = new Set<ChildProcess>()

/** Ends every process that was started here and still runs. */
export function killAll(): void {
  for (const child of alive) child.kill('SIGKILL')
}

/** A writer process, and what it said so far. */
export class Child {
  readonly pid: number
  /** Resolves once it is dead and everything it said was read. */
  readonly end: Promise<End>
  readonly started: number = sharedMs()
  receipts = 0
  isReady = false
  isOpen = false
  /** When its first append returned, on the clock that all processes share. */
  firstReceiptAt: number | undefined
  readonly #process: ChildProcess
  #isOver = false
  #wake: (() => void)[] = []

  constructor(orders: Orders, ledger: Ledger) {
    const child = spawn(process.execPath, [script, JSON.stringify(orders)], {
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    if (child.pid === undefined) throw new Error('no process was started')
    this.pid = child.pid
    this.#process = child
    alive.add(child)
    // A process that is killed does not read what it is told.
    child.stdin.on('error', () => {})
    const complaint: string[] = []
    child.stderr.setEncoding('utf8').on('data', text => complaint.push(text))
    // A last line that the kill cut short is no answer.
    let rest = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#hear(JSON.parse(line) as Said, ledger)
      this.#notify()
    })
    this.end = once(child, 'close').then(([code, signal]) => {
      alive.delete(child)
      this.#isOver = true
      this.#notify()
      return { code, signal, complaint: complaint.join('') }
    })
  }

  get isOver(): boolean {
    return this.#isOver
  }

  #hear(said: Said, ledger: Ledger): void {
    if (said.said === 'ready') this.isReady = true
    if (said.said === 'open') this.isOpen = true
    if (said.said === 'asking') ledger.asking(said.batch)
    if (said.said === 'receipt') {
      this.receipts++
      this.firstReceiptAt ??= said.at
      ledger.receipt(said.batch, said.seqs, said.deduped)
    }
  }

  #notify(): void {
    const wake = this.#wake
    this.#wake = []
    for (const resolve of wake) resolve()
  }

  /** Waits until something is so, or the process is over. */
  async until(isSo: () => boolean): Promise<void> {
    while (!this.#isOver && !isSo()) await new Promise<void>(resolve => this.#wake.push(resolve))
  }

  tell(word: 'open' | 'stop'): void {
    this.#process.stdin?.write(`${word}\n`)
  }

  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#process.kill(name)
  }
}
