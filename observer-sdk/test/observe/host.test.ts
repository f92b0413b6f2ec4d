// What a host asks of a tail and of an observer, beside records and state.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { blobPath, eventsPaths, segmentName, sha256Hex } from '@kim/manifest'
import {
  type Change,
  isMail,
  memoryCursors,
  type ObserverStatus,
  openObserver,
  openTail,
  type RecordTail,
  type TailOptions,
} from '@kim/observer-sdk'
import t, { type Test } from 'tap'
import { GrowingJournal, journalIn, PROJECT } from './growing-journal.js'

const OTHER = 'feedfacefeedfacefeedfacefeedface'

/** Both are to answer alike. */
const DOORS = { tail: openTail, observer: openObserver } as const

type Door = (options: TailOptions) => Promise<RecordTail>

async function opened(t: Test, open: Door, options: Omit<TailOptions, 'cursors'>): Promise<RecordTail> {
  const tail = await open({ cursors: memoryCursors(), ...options })
  t.teardown(() => tail.close())
  return tail
}

/** Changes until the cursor is at this seq. */
async function until(changes: AsyncGenerator<Change>, seq: number): Promise<Change[]> {
  const all: Change[] = []
  for (;;) {
    const { value, done } = await changes.next()
    if (done === true) return all
    all.push(value)
    if (value.cursor.seq >= seq) return all
  }
}

const seqs = (changes: readonly Change[]): number[] =>
  changes.flatMap(({ records }) => records.map(({ seq }) => seq))

for (const [name, open] of Object.entries(DOORS)) {
  t.test(`${name} - hands over each record with its stored line and its place`, async t => {
    const eventsDir = join(t.testdir(), 'events')
    const journal = journalIn(t, eventsDir)
    // A key that no reader knows and white space that no writer of ours makes: the bytes are the stored ones.
    const foreign = (): string => journal.line().replace('{"v":2,', '{ "v": 2, "x-own": "\u00fc",')
    journal.append(foreign() + journal.line())
    journal.transaction(3)
    const tail = await opened(t, open, { eventsDir, from: 'start' })
    const changes = tail.changes()
    const taken = await until(changes, journal.seq)
    const rest = until(changes, journal.seq + 3)
    journal.roll()
    // One line in two writes, and one in the same write as the rest of the other.
    const line = foreign()
    journal.append(line.slice(0, 40))
    await new Promise(resolve => setTimeout(resolve, 30))
    journal.append(line.slice(40) + journal.line())
    taken.push(...(await rest))
    const lines = taken.flatMap(change => change.lines)
    t.equal(lines.length, journal.seq)
    for (const change of taken)
      t.same(
        change.lines.map(({ record }) => record),
        change.records,
      )
    for (const { line, offset, record, segment } of lines) {
      const stored = readFileSync(join(eventsDir, segmentName(segment)))
      t.ok(stored.subarray(offset, offset + line.length).equals(line), `seq ${record.seq} is stored there`)
      t.equal(stored[offset + line.length], 10)
    }
  })

  t.test(`${name} - begins after the record that it is asked to begin after`, async t => {
    const eventsDir = join(t.testdir(), 'events')
    const journal = journalIn(t, eventsDir)
    journal.grow(4)
    const start = async (from: NonNullable<TailOptions['from']>): Promise<Change[]> => {
      const tail = await opened(t, open, { eventsDir, from })
      const idle = new Promise<Change[]>(resolve => tail.onIdle(() => resolve([])))
      return await Promise.race([until(tail.changes(), 5), idle])
    }
    t.same(seqs(await start({ seq: 2 })), [3, 4, 5])
    t.same(seqs(await start({ seq: 2, writer: journal.writer, projectId: PROJECT })), [3, 4, 5])
    t.same(
      seqs(await start({ seq: 2, projectId: OTHER })),
      [1, 2, 3, 4, 5],
      'in another journal, with the first',
    )
    t.same(seqs(await start({ seq: 5 })), [])
    const [rewound] = await start({ seq: 9, writer: journal.writer })
    t.same(rewound?.gap, { from: 6, to: 9, reason: 'rewound' })
    const cursors = memoryCursors()
    cursors.save(PROJECT, { seq: 3, checkpoint_seq: 0, writer: null })
    const stored = await open({ cursors, eventsDir, from: { seq: 1 } })
    t.same(seqs(await until(stored.changes(), 5)), [4, 5], 'a saved cursor counts for more')
    await stored.close()
  })

  t.test(`${name} - begins after a record of a journal that is yet to come`, async t => {
    const eventsDir = join(t.testdir(), 'events')
    const tail = await opened(t, open, { eventsDir, from: { seq: 2 } })
    const changes = tail.changes()
    const first = until(changes, 4)
    const journal = new GrowingJournal(eventsDir)
    journal.grow(3)
    t.same(seqs((await first).slice(-1)), [3, 4])
    const replaced = until(changes, 3)
    journal.close()
    rmSync(eventsDir, { recursive: true })
    journalIn(t, eventsDir, OTHER).grow(2)
    t.same(seqs(await replaced), [1, 2, 3], 'that of another journal means nothing')
  })

  t.test(`${name} - OB-52 gives each status when it changes, the last one at its end`, async t => {
    const eventsDir = join(t.testdir(), 'events')
    const tail = await opened(t, open, { eventsDir })
    const told: ObserverStatus[] = []
    const came = async (kind: ObserverStatus['kind'], reasons: readonly string[] = []): Promise<void> => {
      while (told.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
      t.same(told, [{ kind, reasons }])
      t.same(tail.status, told.pop())
    }
    t.equal(tail.status.kind, 'no_store')
    const forget = tail.onStatus(() => t.fail('it was removed'))
    tail.onStatus(status => told.push(status))
    forget()
    const journal = journalIn(t, eventsDir)
    await came('live')
    journal.grow(2)
    renameSync(eventsDir, `${eventsDir}.away`)
    await came('no_store')
    // A name of a segment that no file has: it is there and cannot be read.
    renameSync(`${eventsDir}.away`, eventsDir)
    await came('live')
    journal.put('seg-00000090.jsonl/inner', '')
    await came('degraded', ['unreadable'])
    rmSync(join(eventsDir, 'seg-00000090.jsonl'), { recursive: true })
    await came('live')
    await tail.close()
    await came('closed')
  })

  t.test(`${name} - a callback that throws ends it, and its consumer gets the error`, async t => {
    const eventsDir = join(t.testdir(), 'events')
    const tail = await opened(t, open, { eventsDir })
    tail.onStatus(() => {
      throw new Error('of the host')
    })
    const consumed = until(tail.changes(), Number.MAX_SAFE_INTEGER)
    journalIn(t, eventsDir)
    await t.rejects(consumed, { message: 'of the host' })
    t.equal(tail.status.kind, 'closed')
  })

  t.test(`${name} - reads the payload of a record, from its file if it is in one`, async t => {
    const eventsDir = join(t.testdir(), 'events')
    const journal = journalIn(t, eventsDir)
    const bytes = Buffer.from(JSON.stringify({ schema_version: 1, content: 'x'.repeat(50) }))
    const sha256 = sha256Hex(bytes)
    const path = join(eventsPaths(eventsDir).blobs, blobPath(sha256))
    journal.put(path.slice(eventsDir.length + 1), bytes)
    journal.grow(1, { payload: undefined as never, payload_ref: { sha256, bytes: bytes.length } })
    journal.grow(1)
    const tail = await opened(t, open, { eventsDir, from: 'start' })
    const [, large, small] = (await until(tail.changes(), 3)).flatMap(({ records }) => records)
    if (large === undefined || small === undefined) throw new Error('both are there')
    t.equal(large.payload, undefined)
    t.same(tail.payloadOf(large), JSON.parse(bytes.toString()))
    t.equal(tail.payloadOf(small), small.payload)
    writeFileSync(path, bytes.fill(0x20, 0, 1))
    t.equal(tail.payloadOf(large), undefined, 'damaged')
    rmSync(dirname(path), { recursive: true })
    t.equal(tail.payloadOf(large), undefined, 'missing')
  })

  t.test(`${name} - is closed by its signal`, async t => {
    const eventsDir = join(t.testdir(), 'events')
    journalIn(t, eventsDir)
    const stop = new AbortController()
    const tail = await opened(t, open, { eventsDir, signal: stop.signal })
    const waiting = tail.changes().next()
    stop.abort()
    t.equal((await waiting).done, true)
    t.equal(tail.status.kind, 'closed')
    await t.rejects(open({ eventsDir, cursors: memoryCursors(), signal: stop.signal }), {
      name: 'AbortError',
    })
  })
}

t.test('isMail - C3 is true for a record that brings a message, wherever its payload is', async t => {
  const eventsDir = join(t.testdir(), 'events')
  const journal = journalIn(t, eventsDir)
  const text = JSON.stringify({ content: 'long', read: false })
  const sha256 = sha256Hex(text)
  const blob = join(eventsPaths(eventsDir).blobs, blobPath(sha256))
  mkdirSync(dirname(blob), { recursive: true })
  writeFileSync(blob, text)
  journal.grow(1, { item_id: 'river/1' })
  journal.grow(1, { item_id: 'river/2', action: 'backfill' })
  journal.grow(1, { item_id: 'river/1', action: 'update' })
  journal.grow(1, { item_type: 'alert', item_id: 'river/unreachable' })
  const facts = { v: 2, seq: ++journal.seq, action: 'create', item_type: 'message', item_id: 'river/3' }
  journal.append(`${JSON.stringify({ ...facts, payload_ref: { bytes: text.length, sha256 } })}\n`)
  const tail = await opened(t, openTail, { eventsDir, from: 'start' })
  const mail = (await until(tail.changes(), journal.seq)).flatMap(({ records }) => records.filter(isMail))
  t.same(
    mail.map(record => [record.item_id, tail.payloadOf(record)?.['read']]),
    ['river/1', 'river/2', 'river/3'].map(id => [id, false]),
  )
})
