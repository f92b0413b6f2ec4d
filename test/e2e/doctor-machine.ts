import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Draft, openJournal } from '@kim/producer/internal'
import type { Test } from 'tap'

/** The launcher that npm links. */
export const bin: string = join(
  dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))),
  'producer/bin/kim-producer.js',
)

/** What one check saw. */
export interface Seen {
  readonly id: string
  readonly status: string
  readonly evidence: string
  readonly remedy: string | null
  readonly fixed: boolean
}

/** A user's machine: a home, a store in it, and the doctor. */
export class Machine {
  readonly home: string
  readonly store: string
  readonly env: Record<string, string>

  constructor(t: Test, store = 'state/store') {
    this.home = mkdtempSync(join(tmpdir(), 'kim-doctor-'))
    t.teardown(() => rmSync(this.home, { recursive: true, force: true }))
    this.store = join(this.home, store)
    const { PATH = '' } = process.env
    this.env = {
      PATH,
      HOME: this.home,
      XDG_STATE_HOME: join(this.home, 'state'),
      XDG_CONFIG_HOME: join(this.home, 'config'),
    }
  }

  /** A healthy store with a few records and more than one segment. */
  fill(...more: Draft[]): this {
    const journal = openJournal({ storeDir: this.store, source: 'http://localhost:7474', gc: false })
    for (let id = 1; id <= 6; id++) {
      journal.append([message(id)])
      if (id % 2 === 0) journal.roll()
    }
    if (more.length > 0) journal.append(more)
    journal.close()
    return this
  }

  segments(): string[] {
    const events = join(this.store, 'events')
    return readdirSync(events)
      .filter(name => name.startsWith('seg-'))
      .sort()
      .map(name => join(events, name))
  }

  health(health: object): void {
    mkdirSync(join(this.store, 'run'), { recursive: true, mode: 0o700 })
    writeFileSync(join(this.store, 'run', 'health.json'), JSON.stringify(health), { mode: 0o600 })
  }

  /** One check, as it is seen from outside; the exit code has to agree with it. */
  async look(t: Test, id: string, ...flags: string[]): Promise<Seen> {
    const args = ['doctor', '--json', '--store', this.store, '--only', id, ...flags]
    const child = spawn(process.execPath, [bin, ...args], {
      env: this.env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', chunk => {
      out += String(chunk)
    })
    const code = await new Promise(resolve => child.on('close', resolve))
    const { ok, checks } = JSON.parse(out) as { ok: boolean; checks: Seen[] }
    const [seen] = checks
    if (seen === undefined) throw new Error('no check')
    t.equal(ok, seen.status !== 'fail' || seen.fixed)
    t.equal(code, ok ? 0 : 1, 'the exit code says it too')
    return seen
  }
}

/** A message to river, as a draft. */
export function message(id: number, created = '2026-06-10T14:03:22.114Z'): Draft {
  const payload = {
    schema_version: 1,
    persona: 'river',
    id,
    from: 'argus',
    content: 'x',
    content_length: 1,
    created,
    read: false,
  }
  return {
    agent: 'river',
    action: 'create',
    item_type: 'message',
    item_id: `river/${id}`,
    summary: 'x',
    payload,
  }
}

/** Answers of a server that is well: two personas, nine unread messages of one of them, and six that it shows. */
export function healthy(path: string): { status: number; body: unknown } {
  if (path.startsWith('/api/personas')) {
    return { status: 200, body: { result: [{ persona: 'river' }, { persona: 'argus' }] } }
  }
  if (path.startsWith('/api/inbox'))
    return { status: 200, body: { result: [1, 2, 3, 4, 5, 6].map(unreadRow) } }
  return { status: 200, body: { result: [{ persona: 'river', unread: 9 }], cursor: 'c' } }
}

/** A message as an inbox shows it. */
export function unreadRow(id: number): object {
  return { id, from: 'argus', content: 'x', created: '2026-06-10T14:03:22.114Z', read: false }
}
