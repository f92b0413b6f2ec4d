import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  Kijito,
  type Match,
  obey,
  performCommand,
  type RequestLogEntry,
  type Rule,
  type RuleEffect,
  readClocks,
  type Serving,
  type Settings,
  serve,
  settingsOf,
} from '@kim/example-kijito-sim'
import type { ReadRecord } from '@kim/manifest'
import type { Preload } from './preloads.js'
import { ProducerProcess, readPipes } from './producer-process.js'
import { readRecords, silentOf, storyOf } from './records.js'
import { type Standing, stand } from './standing.js'

/** How long anything may take before a test gives up: far more than it does on a busy machine. */
const PATIENCE_MS = Number(process.env['KIM_PATIENCE_MS'] ?? 90_000)

/** A server, a store, and the producers between them. */
export class Scene {
  readonly kijito: Kijito
  readonly home: string
  readonly store: string
  readonly #serving: Serving
  readonly producers: ProducerProcess[] = []
  /** Records that stood before: no story of ours. */
  #stood = 0

  private constructor(kijito: Kijito, serving: Serving, home: string) {
    this.kijito = kijito
    this.#serving = serving
    this.home = home
    this.store = join(home, 'store')
  }

  static async open(home: string, settings: Partial<Settings> = {}): Promise<Scene> {
    mkdirSync(home, { recursive: true })
    const kijito = new Kijito(settingsOf(settings.dialect ?? 'hosted', settings))
    return new Scene(kijito, await serve(kijito), home)
  }

  get url(): string {
    return this.#serving.url
  }

  /** Puts a journal into the store, as an earlier producer left it. */
  stand(standing: Standing): void {
    stand(this.store, this.url, standing)
    this.#stood = this.records().length
  }

  /** Answers for the newest page of an inbox, in turn; the last one goes on. */
  newest(...effect: RuleEffect[]): void {
    this.rule({ on: { endpoint: 'inbox', page: 'newest', persona: 'argus', unread_only: false }, effect })
  }

  /** Answers for the page below an id. */
  walk(before_id: number, ...effect: RuleEffect[]): void {
    this.rule({ on: { endpoint: 'inbox', before_id, unread_only: false }, effect })
  }

  /** Answers for the counts. */
  pending(...effect: RuleEffect[]): void {
    this.rule({ on: { endpoint: 'pending' }, effect })
  }

  rule(rule: Rule): void {
    this.kijito.rules.add(rule)
    this.#serving.changed()
  }

  /** Takes every scripted answer back. */
  clear(): void {
    this.kijito.rules.drop()
    this.#serving.changed()
  }

  /** Mail comes in; gives its id. */
  send(to: string, from = 'river', more: { content?: string; urgent?: boolean; id?: number } = {}): number {
    const content = more.content ?? 'hello'
    const [id = 0] = performCommand(
      this.kijito,
      { do: 'send', to, from, ...more, content },
      readClocks(),
    ) as number[]
    this.#serving.changed()
    return id
  }

  /** Says something to the server as a script would. */
  async tell(command: object): Promise<unknown> {
    const reply = await obey(this.kijito, this.#serving, command)
    if (!reply.ok) throw new Error(reply.error)
    return reply.result
  }

  /** Starts a producer on this server and store, with a token unless `env` says otherwise. */
  start(
    flags: readonly string[],
    env: Readonly<Record<string, string>> = { KIM_TOKEN: 'tok' },
    preload: Preload = [],
  ): ProducerProcess {
    const dialect = flags.includes('--dialect') ? [] : ['--dialect', 'hosted']
    const url = flags.includes('--url') ? [] : ['--url', this.url, '--allow-loopback']
    return this.run(['run', '--store', this.store, ...url, ...dialect, ...flags], env, preload)
  }

  /** Starts the command as it is given. */
  run(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    preload: Preload = [],
  ): ProducerProcess {
    const producer = new ProducerProcess(this.home, args, env, preload)
    this.producers.push(producer)
    return producer
  }

  records(): ReadRecord[] {
    return readRecords(this.store)
  }

  story(persona = 'argus'): string[] {
    return storyOf(this.records().slice(this.#stood), persona)
  }

  silent(persona = 'argus'): number[] {
    return silentOf(this.records().slice(this.#stood), persona)
  }

  /** The payload of an entity as it stands. */
  payload(item_type: string, item_id: string): Readonly<Record<string, unknown>> | undefined {
    return this.records().findLast(record => record.item_type === item_type && record.item_id === item_id)
      ?.payload
  }

  /** The payload of an alert as it stands. */
  alert(kind: string, persona = 'argus'): Readonly<Record<string, unknown>> | undefined {
    return this.payload('alert', `${persona}/${kind}`)
  }

  /** The newest record of a persona that carries an event, and its payload. */
  told(event: string, persona = 'argus'): Readonly<Record<string, unknown>> | undefined {
    return this.records().findLast(record => record.agent === persona && record.event === event)?.payload
  }

  asked(on: Match = {}, since = 1): RequestLogEntry[] {
    return this.kijito.log.find(on, since)
  }

  /** Waits until a producer has ended by itself, and says how. */
  async endOf(producer: ProducerProcess): Promise<number | string> {
    const late = new AbortController()
    const tooLate = sleep(PATIENCE_MS, 'it did not end', { signal: late.signal }).catch(() => '')
    const code = await Promise.race([producer.ended, tooLate])
    late.abort()
    return code
  }

  /**
   * Waits until something holds; a producer that ended meanwhile, or no patience left, is an error. What producers had
   * printed by then is read.
   */
  async until(what: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    const running = this.producers.filter(({ code }) => code === undefined)
    for (;;) {
      if (holds()) return await readPipes()
      const gone = running.find(({ code }) => code !== undefined)
      if (gone !== undefined) throw new Error(`${what}: the producer ended with ${gone.code}: ${gone.stderr}`)
      if (performance.now() > deadline) throw new Error(`${what}: waited in vain\n${this.#describe()}`)
      await sleep(25)
    }
  }

  /** Waits until the story has come to hold this line so many times. */
  async tells(line: string, times = 1, persona = 'argus'): Promise<void> {
    await this.until(
      `${times} x "${line}"`,
      () => this.story(persona).filter(one => one === line).length >= times,
    )
  }

  /** Waits until so many more polls of an inbox have been asked for and dealt with. */
  async polls(count: number, persona = 'argus'): Promise<void> {
    const on: Match = { endpoint: 'inbox', persona, page: 'newest' }
    const before = this.asked(on).length
    // The poll after the last one is asked for only when that one has been dealt with.
    await this.until(`${count} polls of ${persona}`, () => this.asked(on).length > before + count)
  }

  /** Ends everything; says how each producer ended. */
  async close(): Promise<(number | string)[]> {
    const codes = await Promise.all(this.producers.map(producer => producer.stop()))
    await this.#serving.close()
    return codes
  }

  #describe(): string {
    const asked = this.asked()
      .slice(-12)
      .map(({ path, query, status }) => `${path} ${JSON.stringify(query)} ${status}`)
    const said = this.producers.map(({ stderr }) => stderr.slice(-2000))
    return [this.story().join(', '), ...asked, ...said].join('\n')
  }
}
