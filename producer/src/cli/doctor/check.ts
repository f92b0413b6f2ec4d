import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { type Input, type Io, parseInput, shellWord, VERSION } from '@kim/cli-kit'
import { type Environment, KimError, type StorePaths, storePaths } from '@kim/manifest'
import { memoryCursors, type Observer, openObserver } from '@kim/observer-sdk'
import { noJournalAt } from '@kim/observer-sdk/history'
import { systemCode } from '../../journal/disk-errors.js'
import { type Installed, installedServices, servicesOn } from '../../os-service/installed-services.js'
import { type ServicePlace, servicePlace, targetOf } from '../../os-service/supervisors.js'
import { openSource } from '../../source/kijito.js'
import type { Answer, PersonaDirectory, Source } from '../../source/source.js'
import { runWords } from '../install-service.js'
import { type RunOptions, runOptions } from '../run/check-flags.js'
import { runFlags } from '../run/flags.js'
import { askedSign, type LastSign, lastSign } from '../running-producer.js'
import { storeCommand } from '../store-flags.js'

/** What a check found. */
export interface CheckResult {
  /** `unknown`: the check could not look. */
  readonly status: 'ok' | 'warn' | 'fail' | 'unknown'
  /** What was found, in one line. */
  readonly evidence: string
  /** What to do about it, exactly. */
  readonly remedy?: string | undefined
  /** Corrects it; present only if there is something to correct and the correction can do no harm. */
  readonly fix?: (() => void) | undefined
}

/** One thing that can be wrong. */
export interface Check {
  readonly id: string
  readonly look: (context: Context) => CheckResult | Promise<CheckResult>
}

export function fine(evidence: string): CheckResult {
  return { status: 'ok', evidence }
}

export function warning(evidence: string, remedy: string | undefined): CheckResult {
  return { status: 'warn', evidence, remedy }
}

export function failing(evidence: string, remedy: string, fix?: () => void): CheckResult {
  return { status: 'fail', evidence, remedy, fix }
}

/** The check could not look. */
export function unseen(evidence: string, remedy?: string): CheckResult {
  return { status: 'unknown', evidence, remedy }
}

/** `, and N more`, if more than one was found. */
export function andMore(count: number): string {
  return count > 1 ? `, and ${count - 1} more` : ''
}

/** What the checks look at. Each expensive part is opened once, when the first check needs it. */
export class Context {
  readonly options: RunOptions
  /** The given flags of `run` apart from the store, as they are typed. */
  readonly given: readonly string[]
  readonly paths: StorePaths
  readonly env: Environment
  readonly home: string = homedir()
  readonly service: ServicePlace | undefined
  /** The name that the service was given by, and not by its store. */
  readonly instance: string | undefined
  readonly signal: AbortSignal
  #asked: Promise<LastSign> | undefined
  #observer: Promise<Observer | undefined> | undefined
  #source: Promise<Source> | undefined
  #directory: Promise<Answer<PersonaDirectory>> | undefined

  constructor(input: Input, io: Io) {
    this.service = serviceOf(input, io)
    const asked = askedFlags(input, io, this.service)
    this.options = runOptions(asked, io)
    this.given = runWords(asked)
    this.paths = storePaths(runOptions(input, io).storeDir)
    this.env = io.env
    this.instance = input.text('name')
    this.signal = io.signal
  }

  /** Whether there is a store. Another program's `events` directory is none (CL-41), nor is an empty one. */
  get hasStore(): boolean {
    const { events } = this.paths
    if (noJournalAt(events) !== undefined) return false
    try {
      return readdirSync(events).length > 0
    } catch {
      // A directory that cannot be listed may hold anything.
      return true
    }
  }

  /** What the files of the running producer, or the last one, say. */
  sign(): LastSign {
    return lastSign(this.paths, Date.now())
  }

  /** The same, but a running producer is asked. */
  asked(): Promise<LastSign> {
    this.#asked ??= askedSign(this.paths, { env: this.env, signal: this.signal })
    return this.#asked
  }

  /** A command, with the flag that names this store. */
  command(words: string): string {
    return storeCommand(words, this.paths.root, this.env)
  }

  /** The same for a command that starts a producer, with the given flags of `run`. */
  starting(words: string): string {
    return [this.command(words), ...this.given].join(' ')
  }

  /** The services of this user that run a producer. */
  services(): Installed[] {
    return this.service === undefined ? [] : installedServices(this.service, this.env, this.home)
  }

  /** The command that installs a service for this store, and replaces none of another store. */
  installing(flags = ''): string {
    const isTaken = this.services().some(({ file }) => file === this.service?.file)
    const name = isTaken ? 'NAME' : this.instance
    return this.starting(`kim-producer install-service${flags}${name === undefined ? '' : ` --name ${name}`}`)
  }

  /** How to start a producer: by the service of this store, if there is one. */
  get start(): string {
    const [one] = servicesOn(this.paths.root, this.services())
    const run = this.starting('kim-producer run')
    if (one === undefined) return `start it: ${run}, or ${this.installing()}`
    const unit = one.target === 'systemd-user' && `systemctl --user start ${shellWord(one.name)}`
    return `start it: ${unit || `the service ${one.name}`}, or ${run}`
  }

  /** The journal as a reader sees it; undefined if there is none. */
  observer(): Promise<Observer | undefined> {
    this.#observer ??= this.hasStore
      ? openObserver({ eventsDir: this.paths.events, cursors: memoryCursors() })
      : Promise.resolve(undefined)
    return this.#observer
  }

  /** The server. Rejects if the flags or the token can never work. */
  source(): Promise<Source> {
    const { server } = this.options
    this.#source ??= openSource({ ...server, version: VERSION, env: this.env, uid: process.getuid?.() })
    return this.#source
  }

  /** The list of personas, requested once. */
  directory(): Promise<Answer<PersonaDirectory>> {
    this.#directory ??= this.source().then(source => source.directory(this.signal))
    return this.#directory
  }

  async close(): Promise<void> {
    const ignore = (): undefined => undefined
    await this.#observer?.then(observer => observer?.close(), ignore)
    await this.#source?.then(source => source.close(), ignore)
  }
}

/** Undefined on a platform whose supervisor we do not know. */
function serviceOf(input: Input, io: Io): ServicePlace | undefined {
  try {
    return servicePlace(targetOf(process.platform), input.text('name'), io.env, homedir())
  } catch (error) {
    if (error instanceof KimError) return undefined
    throw error
  }
}

/**
 * The given flags of `run`, or else those of the one service that runs on the store. Without them the doctor would ask
 * the default server about the store of another (CL-64).
 */
function askedFlags(input: Input, io: Io, place: ServicePlace | undefined): Input {
  if (place === undefined || runWords(input).length > 0) return input
  const { storeDir } = runOptions(input, io)
  const [one, ...others] = servicesOn(storeDir, installedServices(place, io.env, homedir()))
  if (one === undefined || others.length > 0) return input
  const program = { name: 'kim-producer', version: VERSION, about: '', commands: [], exitCodes: [] }
  const run = { ...input.command, name: 'run', flags: runFlags }
  try {
    const flags = parseInput(program, run, one.command.slice(one.command.indexOf('run') + 1), io.env)
    runOptions(flags, io)
    return flags
  } catch (error) {
    // A unit that was written by hand, or by another release, may have flags that `run` does not know.
    if (error instanceof KimError) return input
    throw error
  }
}

/** The path, or the nearest directory above it that exists. */
export function nearestExisting(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearestExisting(dirname(path))
}

const MODES: Readonly<Record<string, number>> = { r: constants.R_OK, w: constants.W_OK, x: constants.X_OK }

/** The error code of the system if this process lacks one of these permissions; otherwise undefined. */
export function accessError(path: string, permissions: 'w' | 'rw' | 'rx' | 'wx'): string | undefined {
  const mode = [...permissions].reduce((all, one) => all | (MODES[one] ?? 0), 0)
  try {
    accessSync(path, mode)
    return undefined
  } catch (error) {
    return systemCode(error) ?? String(error)
  }
}
