import { readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import type { Environment, StorePaths } from '@kim/manifest'
import { memoryCursors, type Observer, openObserver } from '@kim/observer-sdk'
import { noJournalAt } from '@kim/observer-sdk/history'
import type { Runner, ServicePlace } from '../../os-service/supervisors.js'
import type { Answer, PersonaDirectory } from '../../source/answer.js'
import { openSource } from '../../source/open-source.js'
import type { Source } from '../../source/source.js'
import type { RunOptions } from '../run/options.js'
import { askedSign } from '../status/asked-sign.js'
import { type LastSign, lastSign } from '../status/last-sign.js'
import { storeCommand } from '../store-flags.js'
import { version } from '../version.js'

/** What a check looks at. Everything that costs something is had once, when the first check asks. */
export class Context {
  readonly options: RunOptions
  /** The flags of `run` that were given, but for the store, each as it is typed. */
  readonly given: readonly string[]
  readonly paths: StorePaths
  readonly env: Environment
  readonly home: string = homedir()
  readonly run: Runner
  readonly service: ServicePlace | undefined
  /** Whether somebody asked about that service and not about that of the store. */
  readonly isServiceNamed: boolean
  readonly signal: AbortSignal
  #asked: Promise<LastSign> | undefined
  #observer: Promise<Observer | undefined> | undefined
  #source: Promise<Source> | undefined
  #directory: Promise<Answer<PersonaDirectory>> | undefined

  constructor(parts: {
    readonly options: RunOptions
    readonly given: readonly string[]
    readonly paths: StorePaths
    readonly env: Environment
    readonly run: Runner
    readonly service: ServicePlace | undefined
    readonly isServiceNamed: boolean
    readonly signal: AbortSignal
  }) {
    this.options = parts.options
    this.given = parts.given
    this.paths = parts.paths
    this.env = parts.env
    this.run = parts.run
    this.service = parts.service
    this.isServiceNamed = parts.isServiceNamed
    this.signal = parts.signal
  }

  /** Whether a store stands there: an `events` of somebody else's is none (CL-41), and one that is empty was made by nobody of ours. */
  get hasStore(): boolean {
    const { events } = this.paths
    return noJournalAt(events) === undefined && !isEmpty(events)
  }

  /** What the running producer, or the last one, says of itself. */
  sign(): LastSign {
    return lastSign(this.paths, Date.now())
  }

  /** The same, by the word of the one that runs, if it answers; asked once. */
  asked(): Promise<LastSign> {
    this.#asked ??= askedSign(this.paths, { env: this.env, signal: this.signal })
    return this.#asked
  }

  /** A command as it has to be typed to be about this store. */
  command(words: string): string {
    return storeCommand(words, this.paths.root, this.env)
  }

  /** The same for one that starts a producer, with every flag of `run` that was asked with. */
  starting(words: string): string {
    return [this.command(words), ...this.given].join(' ')
  }

  /** The journal as a reader sees it; undefined if there is none. */
  observer(): Promise<Observer | undefined> {
    this.#observer ??= this.hasStore
      ? openObserver({ eventsDir: this.paths.events, cursors: memoryCursors() })
      : Promise.resolve(undefined)
    return this.#observer
  }

  /** The server; rejects where the flags or the token can never work. */
  source(): Promise<Source> {
    const { server } = this.options
    this.#source ??= openSource({ ...server, version, env: this.env, uid: process.getuid?.() })
    return this.#source
  }

  /** The directory, asked for once. */
  directory(): Promise<Answer<PersonaDirectory>> {
    this.#directory ??= this.source().then(source => source.directory(this.signal))
    return this.#directory
  }

  /** Lets go of what was opened. */
  async close(): Promise<void> {
    await this.#observer?.then(
      observer => observer?.close(),
      () => undefined,
    )
    await this.#source?.then(
      source => source.close(),
      () => undefined,
    )
  }
}

/** What cannot be listed may hold anything. */
function isEmpty(directory: string): boolean {
  try {
    return readdirSync(directory).length === 0
  } catch {
    return false
  }
}
