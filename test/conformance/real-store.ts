import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeRecord, type JsonObject, storePaths } from '@kim/manifest'
import { type Draft, type Journal, openJournal } from '@kim/producer/internal'
import { mail, runningPersona } from '../kit/drafts.js'

/** Options that make a small store go through everything often. */
export const smallStore = { source: 'http://localhost:7474', segmentBytes: 12_000, retainRead: 5, gzip: true }

const message = (persona: string, id: number, read: boolean, body = ''): Draft =>
  mail(persona, id, { content: `line ${id} ${body}`, read })

const persona = (name: string, cursor: number, more: JsonObject = {}): Draft => ({
  ...runningPersona(name, { cursor, unread_urgent: 0, ...more }),
  action: 'update',
})

const alert = (action: string, status: string): Draft => ({
  agent: 'river',
  action,
  item_type: 'alert',
  item_id: 'river/unreachable',
  summary: status,
  ...(action === 'delete'
    ? {}
    : {
        payload: { persona: 'river', kind: 'unreachable', status, reason: 'x', schema_version: 1 },
        event: 'alert',
      }),
})

const note = (kind: string, fields: JsonObject): Draft => ({
  agent: 'kim',
  action: 'journal_note',
  item_type: 'journal',
  item_id: kind,
  summary: kind,
  payload: { ...fields, kind, schema_version: 1 },
})

/** Opens the store with segments small enough to roll often. */
export function openSmall(storeDir: string, segmentBytes: number = smallStore.segmentBytes): Journal {
  return openJournal({ ...smallStore, storeDir, segmentBytes })
}

/** The newest segment, where damage and torn tails go. */
export function newestSegment(eventsDir: string): string {
  return readdirSync(eventsDir)
    .filter(name => name.startsWith('seg-'))
    .sort()
    .at(-1) as string
}

/**
 * Makes a store with production code that holds all a journal can come to hold: rolls, seals, checkpoints, parked
 * and packed segments, retention, runs, keys, blobs, notes, and the traces of crashes. Returns its `events/`.
 */
export function makeRealStore(storeDir: string): string {
  const { events } = storePaths(storeDir)
  let journal = openSmall(storeDir)
  journal.append([persona('river', 0), persona('loom', 0)])
  journal.append([note('registry_genesis', { mode: 'all', personas: ['river', 'loom'], missing: [] })])
  let id = 0
  const write = (rounds: number): void => {
    for (let round = 0; round < rounds; round += 1) {
      id += 1
      journal.append([message('river', id, false), message('loom', id, false)])
      if (id > 2) journal.append([message('river', id - 2, true)])
      if (id % 5 === 0) journal.append([persona('river', id), message('argus/x', id, false)], { tx: true })
      if (id % 7 === 0) {
        const key = `key ${id}`
        const actor = { kind: 'operator', name: 'loom' }
        journal.append([{ ...message('loom', id, true), key, actor }])
        journal.append([{ ...message('loom', id, true), key, actor }])
      }
      if (id % 20 === 0) journal.append([message('river', 1000 + id, false, 'x'.repeat(70_000))])
      while (journal.upkeep());
    }
  }
  write(30)
  journal.append([alert('create', 'open')])
  journal.append([alert('update', 'cleared')])
  journal.append([alert('delete', '')])
  journal.append([
    { ...message('river', 1, true), action: 'session_start', item_type: 'session', item_id: 's' },
  ])
  write(40)
  journal.checkpoint()
  journal.gc()
  journal.close()

  // A crash inside a record, one inside a run, and one that lost announced records.
  appendFileSync(join(events, newestSegment(events)), '{"action":"create","agent":"riv')
  journal = openSmall(storeDir)
  write(3)
  const lost = journal.append([persona('river', id, { known_from: 1 })]).seqs[0] as number
  journal.close()
  const newest = join(events, newestSegment(events))
  const kept = readFileSync(newest, 'utf8').split('\n').slice(0, -2)
  writeFileSync(newest, `${kept.join('\n')}\n`)

  journal = openSmall(storeDir)
  const { head } = journal
  write(3)
  journal.close()
  const run = { id: 'torn', n: 3 }
  const record = JSON.parse(kept.at(-1) as string)
  for (const i of [1, 2]) {
    const seq = headSeq(events) + 1
    const line = { ...record, key: undefined, actor: undefined, seq, tx: { ...run, i }, entity_rev: 900 + i }
    appendFileSync(join(events, newestSegment(events)), encodeRecord(JSON.parse(JSON.stringify(line))))
  }
  journal = openSmall(storeDir)
  if (head.seq < lost) throw new Error('the loss was not noticed')
  write(30)
  journal.checkpoint()
  journal.append([note('store_marker', { text: 'the end' })])
  journal.close()

  // The newest segment gets enough to damage, and does not roll any more.
  journal = openSmall(storeDir, 1_000_000)
  write(6)
  journal.append([persona('river', id), persona('loom', id), message('argus/x', 9999, false)], { tx: true })
  write(2)
  journal.close()
  return events
}

function headSeq(events: string): number {
  const lines = readFileSync(join(events, newestSegment(events)), 'utf8')
    .trimEnd()
    .split('\n')
  return JSON.parse(lines.at(-1) as string).seq
}
