import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { storePaths } from '@kim/manifest'
import { verifyJournal } from '@kim/observer-sdk/verify'
import {
  type Clock,
  type Draft,
  type Journal,
  type JournalOptions,
  type LogEntry,
  openJournal,
} from '@kim/producer/internal'
import type { Test } from 'tap'
import { FaultyFs } from './faulty-fs.js'

/** One line as a test looks at it. */
export interface Line {
  readonly seq: number
  readonly action: string
  readonly item_type: string
  readonly item_id: string
  readonly entity_rev: number
  readonly summary: string
  readonly writer: string
  readonly key?: string
  readonly event?: string
  readonly tx?: { readonly id: string; readonly i: number; readonly n: number }
  readonly payload?: Readonly<Record<string, unknown>>
  readonly payload_ref?: { readonly sha256: string; readonly bytes: number }
  readonly clock: Readonly<Record<string, number>>
}

/** A clock that a test moves. */
export class HandClock implements Clock {
  wall: number = Date.UTC(2026, 5, 10, 14)
  mono = 1000
  wallMs(): number {
    return this.wall
  }
  monoMs(): number {
    return this.mono
  }
  bootMs(): number {
    return this.mono + 500
  }
}

/** A store in a directory of its own. With its test it goes away, after the journals that it opened are closed. */
export class TestStore {
  readonly dir: string
  readonly paths: ReturnType<typeof storePaths>
  readonly fs: FaultyFs = new FaultyFs()
  readonly clock: HandClock = new HandClock()
  readonly logged: LogEntry[] = []
  readonly #opened: Journal[] = []

  constructor(t: Test) {
    const home = mkdtempSync(join(tmpdir(), 'kim-journal-'))
    t.teardown(() => {
      for (const journal of this.#opened) journal.close()
      rmSync(home, { recursive: true, force: true })
    })
    this.dir = join(home, 'store')
    this.paths = storePaths(this.dir)
  }

  options(more: Partial<JournalOptions> = {}): JournalOptions {
    return {
      storeDir: this.dir,
      source: 'http://localhost:7474',
      fs: this.fs.port,
      clock: this.clock,
      log: entry => void this.logged.push(entry),
      ...more,
    }
  }

  open(more: Partial<JournalOptions> = {}): Journal {
    const journal = openJournal(this.options(more))
    this.#opened.push(journal)
    return journal
  }

  /** Opens, does something, closes. */
  with<T>(act: (journal: Journal) => T, more: Partial<JournalOptions> = {}): T {
    const journal = this.open(more)
    try {
      return act(journal)
    } finally {
      journal.close()
    }
  }

  segments(): string[] {
    return readdirSync(this.paths.events)
      .filter(name => name.startsWith('seg-'))
      .sort()
  }

  segment(name: string = this.segments().at(-1) ?? ''): string {
    return join(this.paths.events, name)
  }

  /** Puts bytes behind what stands in the newest segment. */
  scribble(text: string | Uint8Array): void {
    writeFileSync(this.segment(), text, { flag: 'a' })
  }

  /** Every line of every segment that is a JSON object, in file order, archive included. */
  lines(): Line[] {
    const files = new Map<string, Buffer>()
    for (const directory of [this.paths.archive, this.paths.events]) {
      if (!existsSync(directory)) continue
      for (const name of readdirSync(directory)) {
        if (!/^seg-\d{8}\.jsonl(\.gz)?$/.test(name)) continue
        const bytes = readFileSync(join(directory, name))
        files.set(name.replace(/\.gz$/, ''), name.endsWith('.gz') ? gunzipSync(bytes) : bytes)
      }
    }
    return [...files.keys()].sort().flatMap(name => linesOf(files.get(name)?.toString('utf8') ?? ''))
  }

  /** The notes of a kind, or the records of a verb. */
  notes(kind: string): Line[] {
    return this.lines().filter(({ action, item_id }) => action === kind || item_id === kind)
  }

  checkpoints(): string[] {
    return readdirSync(this.paths.checkpoints).sort()
  }

  /** `verify` says that the journal is clean; the findings if it does not. */
  async verified(t: Test, exit = 0): Promise<readonly string[]> {
    const verdict = await verifyJournal({ eventsDir: this.paths.events })
    t.equal(verdict.exit, exit, JSON.stringify(verdict.findings))
    return Object.keys(verdict.findings)
  }
}

function linesOf(text: string): Line[] {
  return text.split('\n').flatMap(line => {
    try {
      const value = JSON.parse(line) as Line | null
      return typeof value?.seq === 'number' ? [value] : []
    } catch {
      return []
    }
  })
}

/** A message for river. */
export function message(id: number, more: Partial<Draft> = {}, payload: object = {}): Draft {
  return {
    agent: 'river',
    action: 'create',
    item_type: 'message',
    item_id: `river/${id}`,
    summary: `message ${id}`,
    payload: { schema_version: 1, persona: 'river', id, read: false, content: 'tests are green', ...payload },
    ...more,
  }
}

/** River's own record. */
export function persona(payload: object = {}): Draft {
  return {
    agent: 'river',
    action: 'update',
    item_type: 'persona',
    item_id: 'river',
    summary: 'river',
    payload: { schema_version: 1, persona: 'river', cursor: 0, ...payload },
  }
}

/** Messages with ascending ids. */
export function messages(from: number, to: number, payload: object = {}): Draft[] {
  return Array.from({ length: to - from + 1 }, (_, n) => message(from + n, {}, payload))
}

/** What a call throws, as a KimError's code; undefined if it throws nothing. */
export function codeOf(act: () => unknown): string | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    return String((error as { code?: string }).code ?? error)
  }
}

/** That a call throws a KimError with this code. */
export function throwsCode(t: Test, code: string, act: () => unknown, comment = code): void {
  t.equal(codeOf(act), code, comment)
}
