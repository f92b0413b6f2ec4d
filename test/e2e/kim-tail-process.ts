import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import t from 'tap'

const folder = dirname(createRequire(import.meta.url).resolve('@kim/tail/package.json'))

/** The launcher that npm links. */
export const BIN: string = join(folder, 'bin/kim-tail.js')

/** How a finished command ended and what it said. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

type Environment = Readonly<Record<string, string>>

/** The environment of a user who set nothing, with private state below `home`. */
export function environment(home: string, more: Environment = {}): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(KIM|KIJITO|XDG|NO_COLOR|FORCE_COLOR)/.test(name),
  )
  const kept = inherited.filter((pair): pair is [string, string] => pair[1] !== undefined)
  return { ...Object.fromEntries(kept), HOME: home, XDG_STATE_HOME: join(home, 'state'), TZ: 'UTC', ...more }
}

/** Runs a command to its end. */
export function tail(home: string, args: readonly string[], more: Environment = {}): Ended {
  const done = spawnSync(process.execPath, [BIN, ...args], {
    encoding: 'utf8',
    env: environment(home, more),
    maxBuffer: 1 << 28,
    timeout: 60_000,
  })
  return { code: done.status, signal: done.signal, stdout: done.stdout, stderr: done.stderr }
}

/** What is still running when a test ends early must not outlive it. */
const running = new Set<ChildProcessByStdio<null, Readable, Readable>>()
t.teardown(() => {
  for (const child of running) child.kill('SIGKILL')
})

/** A command that goes on, read line by line. */
export class Following {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  readonly ended: Promise<Ended>
  readonly lines: string[] = []
  stderr = ''
  #rest = ''
  #wake: (() => void)[] = []

  constructor(home: string, args: readonly string[], more: Environment = {}) {
    this.child = spawn(process.execPath, [BIN, ...args], {
      env: environment(home, more),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(this.child)
    let stdout = ''
    this.child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      stdout += chunk
      const parts = (this.#rest + chunk).split('\n')
      this.#rest = parts.pop() ?? ''
      this.lines.push(...parts)
      this.#ring()
    })
    this.child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.stderr += chunk
      this.#ring()
    })
    this.ended = new Promise(resolve => {
      this.child.on('close', (code, signal) => {
        running.delete(this.child)
        resolve({ code, signal, stdout, stderr: this.stderr })
        this.#ring()
      })
    })
  }

  /** Resolves once something holds; it is asked again whenever something was said. */
  async until(holds: (following: Following) => boolean): Promise<void> {
    while (!holds(this)) {
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`ended with ${this.child.exitCode}: ${this.stderr}${this.lines.join('\n')}`)
      }
      await new Promise<void>(resolve => this.#wake.push(resolve))
    }
  }

  /** Resolves with the lines once there are so many. */
  async have(count: number): Promise<readonly string[]> {
    await this.until(({ lines }) => lines.length >= count)
    return this.lines
  }

  #ring(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }
}

/** Writes files of a hand-made journal below a directory. */
export function write(directory: string, files: Readonly<Record<string, string | Buffer>>): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
  return directory
}

/** A line of a hand-made journal: a message announced to river, unless told otherwise. */
export function line(seq: number, more: Readonly<Record<string, unknown>> = {}): string {
  const record = {
    action: 'create',
    agent: 'river',
    entity_rev: 1,
    event: 'new',
    item_id: `river/${seq}`,
    item_type: 'message',
    payload: {
      content: `text ${seq}`,
      created: '2026-06-10T14:03:21Z',
      from: 'argus',
      id: seq,
      persona: 'river',
      read: false,
      schema_version: 1,
    },
    seq,
    summary: `from argus: text ${seq}`,
    ts: '2026-06-10T14:03:22.114Z',
    v: 2,
    writer: 'w_1-aa',
    ...more,
  }
  return `${JSON.stringify(record)}\n`
}
