import { mkdirSync, mkdtempSync, readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Input, type Io, printReport, startProgress, usageError } from '@kim/cli-kit'
import { recreateIncident } from './incident.js'
import { SEED } from './seed.js'

/** Writes the store of the incident and says how to look at it. */
export async function run(input: Input, io: Io): Promise<number> {
  const out = input.text('out')
  const store = out === undefined ? mkdtempSync(join(tmpdir(), 'kim-incident-')) : emptyDirectory(out)
  const progress = startProgress({ label: 'incident', unit: 'events', stream: io.stderr })
  const seed = input.number('seed') ?? SEED
  const facts = await recreateIncident(store, seed, {
    signal: io.signal,
    onProgress: (done, total) => progress.update(done, total),
  }).finally(() => progress.end())
  const events = join(store, 'events')
  const text = [
    `wrote ${store}: ${facts.head_seq} records from ${facts.from} to ${facts.to}, seed ${seed}`,
    'docs/incident.md finds out what happened there. To begin with:',
    `  npx kim-replay verify --events ${events}`,
    `  npx kim-replay timeline --redact none --out incident.html --events ${events}`,
  ]
  printReport(io, input.bool('json'), { ok: true, store, events, ...facts }, text)
  return 0
}

/** A directory with nothing in it: what stands in another one is not ours to mix with. */
function emptyDirectory(path: string): string {
  const directory = resolve(path)
  const standing = statSync(directory, { throwIfNoEntry: false })
  if (standing !== undefined && !standing.isDirectory())
    throw usageError(
      `${directory} is not a directory`,
      'nothing was written; name one that is empty or not there',
    )
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (readdirSync(directory).length > 0)
    throw usageError(
      `${directory} is not empty`,
      'nothing was written; name a directory that is empty or not there',
    )
  return directory
}
