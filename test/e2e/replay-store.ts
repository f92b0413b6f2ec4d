/** A journal to ask `kim-replay` about, and the command itself. */
import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Draft, openJournal } from '@kim/producer/internal'

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))
/** The command. */
export const bin: string = join(root, 'replay', 'bin', 'kim-replay.js')

/** A word that stands in every body and nowhere else. */
export const SECRET = 'tests-are-green'

/** What a run of the command came to. */
export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs the command. */
export function replay(
  args: readonly string[],
  more: {
    readonly input?: string
    readonly env?: Record<string, string>
    readonly uid?: number | undefined
  } = {},
): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    input: more.input ?? '',
    env: { ...process.env, ...more.env },
    ...(more.uid === undefined ? {} : { uid: more.uid }),
  })
  return { code: status, out: stdout, err: stderr }
}

const message = (persona: string, id: number, read: boolean): Draft => ({
  agent: persona,
  action: read ? 'update' : 'create',
  item_type: 'message',
  item_id: `${persona}/${id}`,
  summary: `from argus: ${SECRET}`,
  payload: {
    ...{ schema_version: 1, persona, id, from: 'argus', content: SECRET, content_length: SECRET.length },
    ...{ created: '2026-06-10T14:03:21Z', read },
  },
  ...(read ? {} : { event: 'new' }),
})

/** Writes a journal of many segments with checkpoints and an archive; returns its events directory. */
export function writeStore(storeDir: string, rounds = 120, gc = true): string {
  const journal = openJournal({
    storeDir,
    source: 'http://localhost:7474',
    segmentBytes: 12_000,
    gzip: true,
    gc,
    retainRead: 1000,
  })
  for (let id = 1; id <= rounds; id++) {
    journal.append([message('river', id, false)])
    journal.append([message('argus', id, false), message('river', id, true)], { tx: true })
    if (id === Math.floor(rounds / 2)) journal.checkpoint()
  }
  while (journal.upkeep());
  journal.close()
  return join(storeDir, 'events')
}

/** A copy to do damage to. */
export function copyOf(eventsDir: string, to: string): string {
  cpSync(eventsDir, to, { recursive: true })
  return to
}

/** Every file below a directory with its content and time of change. */
export function contentOf(directory: string): Record<string, string> {
  const all: Record<string, string> = {}
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) all[path] = `${statSync(path).mtimeMs} ${readFileSync(path, 'latin1')}`
  }
  return all
}

/** Live segments by name. */
export function segmentsOf(eventsDir: string): string[] {
  return readdirSync(eventsDir)
    .filter(name => /^seg-\d{8}\.jsonl$/.test(name))
    .sort()
}
