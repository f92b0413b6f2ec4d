import { gunzipSync } from 'node:zlib'
import { encodeRecord, KimError } from '@kim/manifest'
import { type Draft, type Journal, type RedactTarget, redactStore } from '@kim/producer/internal'
import { eventsDir, LossWitness, readNaively, type Site, storeDir, unsyncedSectors } from '../kit/index.js'
import type { Scenario } from './enumerate.js'

/** A payload too large to stand in a line. */
const large = { schema_version: 1, content: 'x'.repeat(70_000) }

/** A store with some history: sealed segments, checkpoints, an archive, deleted and keyed records. */
function withHistory(site: Site): Journal {
  const journal = site.open()
  for (let i = 0; i < 3; i++) {
    site.append(journal, [
      site.draft({ key: `history-${i}` }),
      site.draft({ item_type: 'gate', item_id: 'g', action: 'update' }),
    ])
    site.append(
      journal,
      [site.draft(), site.draft({ item_type: 'alert', item_id: 'river/unreachable' })],
      true,
    )
    site.append(journal, [
      site.draft({ action: 'delete', item_type: 'gate', item_id: 'g', payload: undefined }),
    ])
    journal.checkpoint()
  }
  site.append(journal, [site.draft()])
  return journal
}

/** A store with a little history in one segment. */
function young(site: Site): void {
  const journal = site.open()
  site.append(journal, [site.draft({ key: 'young' })])
  site.append(journal, [site.draft()])
  journal.close()
  site.fs.settle()
}

function old(site: Site): void {
  withHistory(site).close()
  site.fs.settle()
}

/** The journal an act works on: it is there in every scenario that is no open. */
function given(journal: Journal | undefined): Journal {
  if (journal === undefined) throw new TypeError('this scenario acts on an open journal')
  return journal
}

/** A store whose writer died while a commit was under way, with this much of its bytes in the file. */
function torn(site: Site, tx: boolean, cut: (bytes: number) => number): void {
  const journal = site.open()
  site.append(journal, [site.draft({ key: 'before' })])
  const drafts = [site.draft({ key: 'a' }), site.draft({ key: 'b' }), site.draft({ key: 'c' })]
  site.fs.failWhen(call => (call.name === 'write' ? { kind: 'short', bytes: cut(call.bytes) } : undefined))
  try {
    site.append(journal, drafts, tx)
  } catch {
    // The disk is full; nobody frees it before the process dies.
  }
  site.fs.failWhen(undefined)
  site.fs.kill()
  site.fs = site.fs.restart()
}

/** Mail of three inboxes that needs many sectors. */
function manyMessages(site: Site): Draft[] {
  const padding = 'x'.repeat(150)
  return Array.from({ length: 24 }, (_, n) => {
    const { item_id, ...draft } = site.draft({ payload: { schema_version: 1, padding } })
    const persona = ['river', 'argus', 'loom'][n % 3] ?? ''
    return { ...draft, item_id: item_id.replace('river', persona) }
  })
}

/** A store whose power went in the middle of a commit, and the disk lost a page of it. */
function withLostMiddle(site: Site): void {
  const journal = site.open()
  site.append(journal, manyMessages(site).slice(0, 6))
  site.fs.failWhen(({ name }) => (name === 'fdatasync' ? { kind: 'die', when: 'before' } : undefined))
  try {
    site.append(journal, manyMessages(site))
  } catch {
    // It died before the sync.
  }
  const [file] = site.fs.disk.unsyncedFiles()
  const node = file === undefined ? undefined : site.fs.disk.node(file.ino)
  if (file === undefined || node?.kind !== 'file') throw new TypeError('nothing is unsynced')
  const sectors = unsyncedSectors(node)
  const lost = new Map([[file.ino, new Set(sectors.slice(4, 12))]])
  const units = new Map([[file.ino, file.units]])
  site.fs = site.fs.crash({ names: site.fs.disk.names.length, units, lost })
}

/** Every inbox that may have lost mail is pinned below it, and no other (RC-7). */
function pinned(site: Site): string[] {
  const witness = new LossWitness()
  for (const record of readNaively(site.fs.files(eventsDir))) witness.see(record)
  return witness.objections()
}

/** An open, after which one append must go as well. */
function reopen(site: Site): void {
  const journal = site.open()
  site.append(journal, [site.draft()])
  journal.close()
}

/** What a redaction is to erase, in a line and in a blob. */
const secret = 'the-password-is-swordfish'

/** A store with a secret in sealed, parked and active segments, in blobs and in checkpoints. */
function confided(site: Site, contents: readonly string[]): void {
  const journal = site.open()
  const confide = (content: string): void => {
    const told = { item_type: 'message', item_id: 'argus/1', payload: { schema_version: 1, content } }
    site.append(journal, [site.draft(), site.draft({ ...told, action: 'update' })])
  }
  for (const content of contents) {
    confide(content)
    journal.checkpoint()
  }
  confide(secret)
  journal.close()
  site.fs.settle()
}

/** Redaction is whole or has not begun: a journal that announces it holds the secret nowhere. */
function forgotten(site: Site): string[] {
  const files = site.fs.files(eventsDir)
  const records = readNaively(files)
  const announced = records.some(record => (record.raw['payload'] as { kind?: string })?.kind === 'redaction')
  const holders = [...files].filter(([path, data]) => {
    const text = path.endsWith('.gz') ? gunzipSync(data) : data
    return text.includes(secret)
  })
  if (announced) return holders.map(([path]) => `redacted, and the secret still stands in ${path}`)
  const told = records.filter(record => record.item_id === 'argus/1' && record.summary !== 'redacted')
  const all = records.filter(record => record.item_id === 'argus/1')
  return told.length === all.length ? [] : ['no redaction is announced, and records were erased']
}

function redact(site: Site, target: RedactTarget): void {
  redactStore({ ...site.process(), target, reason: 'asked for' })
  reopen(site)
}

/** A record by somebody who does not know the lock. */
function intruderLine(seq: number): string {
  return encodeRecord({
    v: 2,
    seq,
    ts: '2026-06-10T14:00:00.000Z',
    writer: 'w_9-ffffff',
    agent: 'argus',
    action: 'create',
    item_type: 'message',
    item_id: 'argus/999',
    entity_rev: 1,
    summary: 'written past the lock',
    payload: { schema_version: 1 },
  })
}

/** What a writer does, each thing by itself. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'commit',
    prepare: young,
    act(site, journal) {
      const drafts = ['one', 'two', 'three'].map(key => site.draft({ key }))
      site.append(given(journal), drafts)
    },
  },
  {
    name: 'commit without keys',
    prepare: young,
    act(site, journal) {
      site.append(given(journal), [site.draft(), site.draft()])
      site.append(given(journal), [site.draft({ item_id: 'river/1', action: 'update' })])
    },
  },
  {
    name: 'transaction',
    prepare: young,
    act(site, journal) {
      const drafts = ['one', 'two', 'three'].map(key => site.draft({ key }))
      site.append(given(journal), drafts, true)
    },
  },
  {
    name: 'commit with a blob',
    prepare: young,
    act(site, journal) {
      site.append(given(journal), [
        site.draft({ key: 'small' }),
        site.draft({ key: 'large', payload: large }),
      ])
    },
  },
  {
    name: 'roll',
    prepare: old,
    act(site, journal) {
      given(journal).roll()
      site.append(given(journal), [site.draft()])
    },
  },
  {
    name: 'roll by size with retention',
    options: { segmentBytes: 3000, retainRead: 1, gc: false },
    prepare(site) {
      const journal = site.open()
      site.append(journal, [
        site.draft({
          item_type: 'persona',
          item_id: 'river',
          payload: { schema_version: 1, persona: 'river' },
        }),
      ])
      for (let i = 0; i < 4; i++)
        site.append(journal, [site.draft({ payload: { schema_version: 1, read: true } })])
      journal.close()
      site.fs.settle()
    },
    act(site, journal) {
      for (let i = 0; i < 3; i++) site.append(given(journal), [site.draft({ key: `filling-${i}` })])
    },
  },
  {
    name: 'checkpoint',
    options: { gc: false },
    prepare: old,
    act(site, journal) {
      given(journal).checkpoint()
      site.append(given(journal), [site.draft({ key: 'after' })])
    },
  },
  {
    name: 'gc',
    options: { gc: false },
    prepare: old,
    act(site, journal) {
      given(journal).gc()
      site.append(given(journal), [site.draft({ key: 'after' })])
    },
  },
  {
    name: 'gc with gzip',
    options: { gc: false, gzip: true },
    prepare: old,
    act(site, journal) {
      given(journal).gc()
      site.append(given(journal), [site.draft({ key: 'after' })])
    },
  },
  {
    name: 'gc on a disk that knows no links',
    options: { gc: false },
    prepare: old,
    act(site, journal) {
      site.fs.failWhen(({ name }) => (name === 'link' ? { kind: 'error', code: 'EPERM' } : undefined))
      given(journal).gc()
      site.append(given(journal), [site.draft({ key: 'after' })])
    },
  },
  {
    name: 'gc after a move that did not finish',
    options: { gc: false },
    prepare(site) {
      const journal = withHistory(site)
      let moves = 0
      // The power goes between the link and the unlink of the first checkpoint; segments were moved before it.
      site.fs.failWhen(({ name, path }) => {
        if (name === 'unlink' && path.includes('ckpt-')) moves++
        return moves > 0 ? { kind: 'die', when: 'before' } : undefined
      })
      try {
        journal.gc()
      } catch {
        // It died.
      }
      site.fs = site.fs.restart().settle()
    },
    act(site, journal) {
      given(journal).gc()
      site.append(given(journal), [site.draft({ key: 'after' })])
    },
  },
  {
    name: 'commit after somebody else wrote to the segment',
    prepare: young,
    act(site, journal) {
      const seq = given(journal).head.seq + 1
      site.fs.intrude(`${eventsDir}/seg-00000001.jsonl`, intruderLine(seq))
      try {
        site.append(given(journal), [site.draft({ key: 'beside' })])
      } catch (error) {
        if (!(error instanceof KimError) || site.fs.dead) throw error
        given(journal).close()
        reopen(site)
      }
    },
  },
  {
    name: 'redact an entity',
    opens: true,
    prepare: site => confided(site, [secret, secret.repeat(3000), secret]),
    act: site => redact(site, { item_type: 'message', item_id: 'argus/1' }),
    inspect: forgotten,
  },
  {
    name: 'redact beside copies that differ and junk among the blobs',
    opens: true,
    prepare(site) {
      confided(site, [secret, secret.repeat(3000)])
      site.fs.plantFile(`${eventsDir}/blobs/.DS_Store`, 'x')
      site.fs.plantDir(`${eventsDir}/blobs/lost+found`)
      const [path, bytes] = [...site.fs.files(eventsDir)].find(([name]) => name.startsWith('seg-')) ?? []
      site.fs.plantFile(`${eventsDir}/archive/${path}`, `${bytes}{"v":2}\n`)
    },
    act: site => redact(site, { item_type: 'message', item_id: 'argus/1' }),
    inspect: forgotten,
  },
  {
    name: 'redact by number, archive packed',
    options: { gzip: true },
    opens: true,
    prepare: site => confided(site, [secret.repeat(3000), secret]),
    act: site => redact(site, { seq: 3 }),
    inspect: forgotten,
  },
  {
    name: 'commit of several pages',
    prepare: young,
    act: (site, journal) => void site.append(given(journal), manyMessages(site)),
    inspect: pinned,
  },
  {
    name: 'open after a commit that lost its middle',
    opens: true,
    prepare: withLostMiddle,
    act: reopen,
    inspect: pinned,
  },
  { name: 'open a new store', opens: true, prepare: () => undefined, act: reopen },
  { name: 'open after a clean close', opens: true, prepare: young, act: reopen },
  { name: 'open with history', opens: true, prepare: old, act: reopen },
  {
    name: 'open after a torn line',
    opens: true,
    prepare: site => torn(site, false, bytes => Math.floor(bytes / 2)),
    act: reopen,
  },
  {
    name: 'open after a line without its end',
    opens: true,
    prepare: site => torn(site, false, bytes => bytes - 1),
    act: reopen,
  },
  {
    name: 'open after a torn transaction',
    opens: true,
    prepare: site => torn(site, true, bytes => Math.floor(bytes / 2)),
    act: reopen,
  },
  {
    name: 'open after a transaction without its end',
    opens: true,
    prepare: site => torn(site, true, bytes => bytes - 1),
    act: reopen,
  },
  {
    name: 'open after an unfinished roll',
    opens: true,
    prepare(site) {
      const journal = withHistory(site)
      let made = false
      site.fs.failWhen(call => {
        if (made && call.name === 'write') return { kind: 'die', when: 'before' }
        made ||= call.name === 'open' && /seg-\d+\.jsonl$/.test(call.path)
        return undefined
      })
      try {
        journal.roll()
      } catch {
        // It died between the new segment and its first record.
      }
      site.fs = site.fs.restart()
    },
    act: reopen,
  },
  {
    name: 'open after an unfinished checkpoint',
    opens: true,
    prepare(site) {
      const journal = withHistory(site)
      site.fs.failWhen(call =>
        call.name === 'rename' && call.path.includes('ckpt-') ? { kind: 'die', when: 'after' } : undefined,
      )
      try {
        journal.checkpoint()
      } catch {
        // It died between the checkpoint and the record that vouches for it.
      }
      site.fs = site.fs.restart()
    },
    act(site) {
      const journal = site.open()
      while (journal.upkeep()) {
        // one slice after the other
      }
      site.append(journal, [site.draft()])
      journal.close()
    },
  },
  {
    name: 'open with records lost that meta.json announces',
    opens: true,
    prepare(site) {
      young(site)
      const meta = `${storeDir}/events/meta.json`
      const text = site.fs.peek(meta)?.toString() ?? ''
      const ahead = JSON.parse(text) as { next_seq: number }
      site.fs.plantFile(meta, JSON.stringify({ ...ahead, next_seq: ahead.next_seq + 5 }))
    },
    act: reopen,
  },
]
