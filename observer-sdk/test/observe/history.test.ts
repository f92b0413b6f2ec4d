import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type JournalHistory, openHistory } from '@kim/observer-sdk/history'
import t from 'tap'

const line = (seq: number, more: object = {}): string =>
  `${JSON.stringify({ v: 2, seq, action: 'create', item_type: 'message', item_id: `river/${seq}`, agent: 'river', writer: 'w_1-aa', event: 'new', payload: { id: seq }, ...more })}\n`

/** An events directory with these files. */
function journal(directory: string, files: Readonly<Record<string, string | Buffer>>): string {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(directory, name, '..'), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
  return directory
}

function opened(events: string): JournalHistory {
  const history = openHistory(events)
  if (history === undefined) throw new Error('no journal')
  return history
}

function seqs(entries: Iterable<{ readonly record: { readonly seq: number } }>): number[] {
  return [...entries].map(({ record }) => record.seq)
}

t.test('history - is the same from both ends, archive included', async t => {
  const tx = (id: string, i: number, n: number): object => ({ tx: { id, i, n } })
  const events = journal(t.testdir(), {
    'archive/seg-00000001.jsonl.gz': gzipSync(line(1) + line(2)),
    'archive/seg-00000003.jsonl': line(3),
    'seg-00000003.jsonl': line(3) + line(4),
    'seg-00000005.jsonl':
      `\ufeff${line(5)}\n \r\n${line(6, tx('a', 1, 2))}\n${line(7, tx('a', 2, 2))}garbage\n${line(8, tx('b', 1, 2))}${line(9)}` +
      line(10, tx('c', 2, 2)) +
      line(11, { tx: 'odd' }) +
      line(12, tx('d', 1, 3)) +
      line(13, tx('d', 2, 3)) +
      `{"v":3,"seq":14}\n` +
      line(15, tx('d', 3, 3)) +
      line(16, tx('e', 1, 1)) +
      line(17, tx('f', 1, 2)),
    'seg-1.jsonl': line(99),
  })
  const past = opened(events)
  const expected = [1, 2, 3, 4, 5, 6, 7, 9, 16]
  t.same(seqs(past.forwards()), expected)
  t.same(seqs(past.backwards()).toReversed(), expected)
  t.same(seqs(past.forwards(5)), [5, 6, 7, 9, 16])
  t.equal(past.newest()?.record.seq, 16)
  t.equal(past.segmentOf(4)?.number, 3)
  t.equal(past.segmentOf(0), undefined)
  t.equal(openHistory(join(events, 'nothing')), undefined)
})

t.test('history - a line that repeats one of its segment is passed over', async t => {
  const events = journal(t.testdir(), {
    'seg-00000001.jsonl': line(1) + line(2) + line(1) + line(1, { x: 1 }),
  })
  t.same(seqs(opened(events).forwards()), [1, 2, 1])
})

t.test('history - each record has its line and its place', async t => {
  const events = journal(t.testdir(), { 'seg-00000001.jsonl': `${line(1)}\n${line(2)}` })
  const offset = Buffer.byteLength(line(1)) + 1
  for (const lines of [[...opened(events).forwards()], [...opened(events).backwards()].reverse()]) {
    t.match(lines, [
      { segment: 1, offset: 0 },
      { segment: 1, offset },
    ])
    t.equal(`${Buffer.from(lines[1]?.line ?? [])}\n`, line(2))
  }
})

t.test('history - the project is named by the first live segment that begins with a note', async t => {
  const note = {
    agent: 'kim',
    item_type: 'journal',
    item_id: 'genesis',
    action: 'journal_note',
    event: undefined,
  }
  const payload = (project_id: string): object => ({ ...note, payload: { kind: 'genesis', project_id } })
  const events = journal(t.testdir(), {
    'archive/seg-00000001.jsonl': line(1, payload('archived')),
    'seg-00000002.jsonl': line(2),
    'seg-00000004.jsonl': line(4, payload('ours')),
  })
  t.equal(opened(events).projectId, 'ours')
  const foreign = journal(join(events, 'foreign'), { 'seg-00000001.jsonl': line(1) })
  t.match(opened(foreign).projectId, /^[0-9a-f]{64}$/)
})

t.test('history - what is missing between two segments', async t => {
  const events = journal(t.testdir(), {
    'seg-00000001.jsonl': line(1) + line(2),
    'seg-00000005.jsonl': line(5) + line(8),
    'seg-00000009.jsonl': 'garbage\n',
    'seg-00000020.jsonl': line(20),
  })
  const history = opened(events)
  const gap = (from: number, to: number): object => ({ from, to, reason: 'missing' })
  t.same(history.missing(0, Number.MAX_SAFE_INTEGER), [gap(3, 4), gap(9, 19)])
  t.same(history.missing(2, 5), [gap(3, 4)])
  t.same(history.missing(5, 8), [], 'no segment is missing')
  t.same(history.missing(8, 9), [])
  t.same(history.missing(12, 20), [gap(13, 19)])
})

t.test('history - a file that cannot be read is named once it was tried', async t => {
  const events = journal(t.testdir({ 'seg-00000004.jsonl': {} }), { 'seg-00000001.jsonl': line(1) })
  const history = opened(events)
  t.match(history.failures, [{ path: join(events, 'seg-00000004.jsonl') }], 'known from the list')
  t.same(seqs(history.forwards()), [1])
  history.tryAll()
  t.equal(history.failures.length, 1)
})
