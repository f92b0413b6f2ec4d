import { basename } from 'node:path'
import { formatCount, type Io, type LineOutput, safeText } from '@kim/cli-kit'
import type { KimError } from '@kim/manifest'
import type { ReadFailure } from '@kim/observer-sdk/history'
import type { Mode } from '../render/choose.js'
import { controlLine } from '../render/control-line.js'
import type { Suppressed } from './rate.js'

/** Records that are gone. */
export interface ReportedGap {
  readonly from: number
  readonly to: number
  readonly reason: string
}

/** What an agent is told first. */
export interface Readiness {
  readonly seq: number
  readonly backlog: number
  readonly oldest: string | undefined
  readonly producer: string
}

/**
 * Says what is no record. An agent sees nothing but stdout, so it is told there, in lines no record can forge;
 * everybody else reads stderr, so that stdout stays data.
 */
export class Reporter {
  readonly #agent: boolean
  readonly #inline: boolean
  readonly #quiet: boolean
  readonly #out: LineOutput
  readonly #stderr: Io['stderr']

  /** `ownLines`: a record may be any text, so only stderr can be told from it. */
  constructor(mode: Mode, quiet: boolean, out: LineOutput, stderr: Io['stderr'], ownLines = false) {
    this.#agent = mode === 'agent'
    this.#inline = !ownLines && (mode === 'short' || mode === 'short-iso')
    this.#quiet = quiet
    this.#out = out
    this.#stderr = stderr
  }

  /** Once, before anything else. */
  ready(facts: Readiness): void {
    if (this.#agent) this.#control('ready', { ...facts })
  }

  /** Everything that stood there is printed. */
  caughtUp(seq: number): void {
    if (this.#agent) this.#control('caught_up', { seq })
    else this.#note(`caught up at seq ${seq}`)
  }

  /** Nothing was selected: a person who sees an empty screen asks whether it works. */
  nothing(): void {
    if (!this.#agent && this.#stderr.isTTY === true) this.#note('no existing record is selected')
  }

  /** Stands where the gap is. */
  gap(gap: ReportedGap): void {
    if (this.#agent) this.#control('gap', { ...gap })
    else {
      const text = `records ${gap.from} to ${gap.to} are missing (${gap.reason})`
      if (this.#inline) this.#out.line(`-- ${text}`)
      else this.#stderr.write(`kim-tail: ${text}\n`)
    }
  }

  /** In place of what a rate held back. */
  suppressed(held: Suppressed): void {
    if (this.#agent) this.#control('suppressed', { ...held })
    else
      this.#note(`${formatCount(held.n, 'record')} not shown, seq ${held.first} to ${held.last} (--max-rate)`)
  }

  /** The producer began or ceased to give signs of life. */
  producer(state: 'up' | 'down', since: string | undefined): void {
    if (this.#agent) this.#control(`producer_${state}`, { since })
    else this.#note(`the producer is ${state}`)
  }

  /** A sign of life of this process. */
  heartbeat(seq: number): void {
    if (this.#agent) this.#control('heartbeat', { seq })
    else if (this.#inline) this.#out.line(`-- heartbeat at seq ${seq}`)
    // A blank line is nothing to whoever reads records, and a real write all the same.
    else this.#out.line('')
  }

  /** Something a person should know. Agents get it as a control line of that name. */
  say(name: string, text: string, facts: Readonly<Record<string, string | number | undefined>> = {}): void {
    if (this.#agent) this.#control(name, facts)
    else this.#note(text)
  }

  /** What is there and cannot be read: silence must not be taken for nothing new. */
  unreadable(failures: readonly ReadFailure[]): void {
    for (const { code, path } of failures)
      this.warn(`cannot read ${basename(path)} (${code}); its records are not shown: ${path}`)
  }

  /** Something nobody may miss: on stderr in any case. */
  warn(text: string): void {
    this.#stderr.write(`kim-tail: ${safeText(text)}\n`)
    if (this.#agent) this.#control('warning', { text })
  }

  /** An error, where the agent can see it. What ends the command says it on stderr too. */
  error(error: Pick<KimError, 'code' | 'hint' | 'message'>): void {
    if (this.#agent) this.#control('error', { code: error.code, message: error.message, hint: error.hint })
  }

  /** A token for what was read. */
  cursor(token: string): void {
    if (this.#agent) this.#control('cursor', { token })
    else if (this.#inline) this.#out.line(`-- cursor: ${token}`)
    else this.#stderr.write(`cursor: ${token}\n`)
  }

  /** Last, with the way to go on. */
  end(reason: string, resume?: string): void {
    if (this.#agent) this.#control('end', { reason, resume })
  }

  #note(text: string): void {
    if (!this.#quiet) this.#stderr.write(`kim-tail: ${safeText(text)}\n`)
  }

  #control(name: string, facts: Readonly<Record<string, string | number | undefined>>): void {
    this.#out.line(controlLine(name, facts))
  }
}
