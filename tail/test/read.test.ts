import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JournalHistory, openHistory } from '@kim/observer-sdk/history'
import t from 'tap'
import { record } from '../../monitor/dist-test/records.js'
import { factsOf } from '../dist/journal.js'
import { findRecord } from '../dist/read/find-record.js'
import {
  allEntries,
  lastEntries,
  lineFilter,
  type ScanStep,
  SeenPersonas,
  withTurns,
} from '../dist/read/past-entries.js'
import { entry } from './records.js'

const line = (seq: number, more: object = {}): string =>
  `${JSON.stringify({ v: 2, seq, action: 'create', item_type: 'message', item_id: `river/${seq}`, agent: 'river', writer: 'w_1-aa', event: 'new', payload: { id: seq }, ...more })}\n`

/** The records of a journal that exists. */
function open(events: string): JournalHistory {
  const past = openHistory(events)
  if (past === undefined) throw new Error('no journal')
  return past
}

/** An events directory with these files. */
function journal(directory: string, files: Readonly<Record<string, string | Buffer>>): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(directory, name, '..'), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
  return directory
}

function seqs(entries: Iterable<{ readonly record: { readonly seq: number } } | undefined>): number[] {
  return [...entries].flatMap(entry => (entry === undefined ? [] : [entry.record.seq]))
}

t.test('last - the newest that are wanted, and no more than is needed is read', async t => {
  const events = journal(t.testdir(), {
    'seg-00000001.jsonl': Array.from({ length: 20 }, (_, i) =>
      line(i + 1, { agent: i % 2 ? 'river' : 'loom' }),
    ).join(''),
  })
  const past = open(events)
  const wanted = {
    personas: ['river'],
    lines: 3,
    sinceMs: undefined,
    selects: (one: { record: { agent?: string | undefined } }) => one.record.agent === 'river',
  }
  const met = new SeenPersonas(['river'])
  t.same(seqs(lastEntries(past, wanted, met)), [16, 18, 20])
  t.same(met.unseen, [])
  t.same(seqs(allEntries(past, { ...wanted, lines: Number.POSITIVE_INFINITY }, met)).length, 10)
  const strange = new SeenPersonas(['nobody', 'loom'])
  t.same(seqs(lastEntries(past, { ...wanted, personas: ['nobody', 'loom'], lines: 0 }, strange)), [])
  t.same(strange.unseen, ['nobody'])
})

t.test('last - with a time, nothing before two segments that are old is looked into', async t => {
  const at = (hour: number): object => ({ ts: `2026-06-10T${String(hour).padStart(2, '0')}:00:00.000Z` })
  const events = journal(t.testdir(), {
    'seg-00000001.jsonl': line(1, at(1)) + line(2, at(23)),
    'seg-00000003.jsonl': line(3, at(5)),
    'seg-00000004.jsonl': line(4, at(6)) + line(5, at(7)),
    'seg-00000006.jsonl': line(6, at(10)),
  })
  const past = open(events)
  const wanted = {
    personas: [],
    selects: () => true,
    sinceMs: Date.parse('2026-06-10T09:30:00Z'),
    lines: 100,
  }
  t.same(seqs(lastEntries(past, wanted, new SeenPersonas([]))), [3, 4, 5, 6], 'two in a row are old')
  t.same(seqs(allEntries(past, wanted, new SeenPersonas([]))), [3, 4, 5, 6])
})

t.test('wanted - says no only of lines that cannot matter', async t => {
  const wanted = lineFilter(['river'])
  const of = (text: string): boolean | undefined => wanted?.(Buffer.from(text))
  t.ok(of('{"agent":"river"}'))
  t.ok(of('{"agent" : "river"}'))
  t.ok(of('{"agent":"r\\u0069ver"}'), 'an escape may spell it')
  t.ok(of('{"agent":"loom","tx":{}}'), 'a run is judged whole')
  t.notOk(of('{"agent":"loom","summary":"for river"}'))
  t.equal(lineFilter([]), undefined)
  t.equal(lineFilter(['ri"ver']), undefined, 'a name that JSON can spell in several ways')
})

t.test('facts - payloads from blobs', async t => {
  const payload = '{"content":"big","id":1}'
  const sha256 = createHash('sha256').update(payload).digest('hex')
  const ref = (bytes: number): object => ({ payload: undefined, payload_ref: { sha256, bytes } })
  const events = journal(t.testdir(), {
    'seg-00000002.jsonl': line(2, ref(payload.length)) + line(3, ref(5)),
    [`blobs/${sha256.slice(0, 2)}/${sha256}`]: payload,
  })
  const past = open(events)
  const [whole, wrong] = [...past.forwards()].map(({ record }) => factsOf(past).payloadOf(record))
  t.same(whole, { content: 'big', id: 1 })
  t.equal(wrong, undefined)
})

t.test('find - by seq, by message, by event id, and what is damaged', async t => {
  const events = journal(t.testdir(), {
    'seg-00000001.jsonl':
      line(1, { action: 'backfill', event: undefined, item_id: 'river/9' }) +
      line(2) +
      line(2, { writer: 'w_2-bb' }) +
      '{"v":2,"seq":3,"action":"create","item_type":""}\n',
    'seg-00000004.jsonl':
      line(4, { event: 'armed', item_type: 'persona', item_id: 'river' }) +
      line(5, { item_id: 'ri/ver/7', agent: 'ri/ver' }),
  })
  const past = open(events)
  const facts = { ...factsOf(past), projectId: () => 'p' }
  t.match(findRecord(past, { kind: 'seq', seq: 2, text: '2' }, facts), {
    kind: 'record',
    entry: { record: { writer: 'w_2-bb' } },
    others: 1,
  })
  t.match(findRecord(past, { kind: 'seq', seq: 3, text: '3' }, facts), {
    kind: 'corrupt',
    reason: 'no_item_type',
  })
  t.same(findRecord(past, { kind: 'seq', seq: 9, text: '9' }, facts), { kind: 'absent' })
  t.match(findRecord(past, { kind: 'message', persona: 'river', id: 9, text: 'river:new:9' }, facts), {
    entry: { record: { seq: 1 } },
  })
  t.match(findRecord(past, { kind: 'message', persona: 'ri/ver', id: 7, text: 'ri/ver:new:7' }, facts), {
    entry: { record: { seq: 5 } },
  })
  const run = createHash('sha256').update('p\nw_1-aa').digest('hex').slice(0, 16)
  t.match(
    findRecord(past, { kind: 'event', persona: 'river', seq: 4, text: `river:armed:${run}-4` }, facts),
    {
      entry: { record: { seq: 4 } },
    },
  )
  t.same(findRecord(past, { kind: 'event', persona: 'river', seq: 4, text: `river:alert:${run}-4` }, facts), {
    kind: 'absent',
  })
})

t.test(
  'with turns - CL-39 a look without an end is left where it stands, and others have their turns',
  async t => {
    function* endless(): Generator<ScanStep> {
      for (let seq = 1; ; seq++) yield seq === 1 ? first : undefined
    }
    const first = entry(record(1))
    const ended = new AbortController()
    setTimeout(() => ended.abort('SIGINT'), 1)
    const found: ScanStep[] = []
    for await (const one of withTurns(endless(), ended.signal)) found.push(one)
    t.same(found, [first])
  },
)
