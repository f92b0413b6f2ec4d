import { setImmediate as turn } from 'node:timers/promises'
import { type Change, memoryCursors, type Observer, openTail } from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import t, { type Test } from 'tap'
import type { BytePosition, JournalReader } from '../../dist/tail/journal-reader.js'
import { RecordSource } from '../../dist/tail/record-source.js'
import { type GrowingJournal, journalIn } from './growing-journal.js'

const PACE = { slowMs: 25, fastMs: 25 }
const PART = 64 * 1024
const content = 'x'.repeat(400)

/** What happened, in order. */
type Seen = 'read' | 'handed' | 'told'

/** A journal whose first reader, which is the state's, notes what it reads, and may be given less at a time. */
class WatchedSource extends RecordSource {
  readonly seen: Seen[]
  readonly #bytesMax: number
  #isState = true

  constructor(eventsDir: string, seen: Seen[], bytesMax: number) {
    super(eventsDir, PACE)
    this.seen = seen
    this.#bytesMax = bytesMax
  }

  override reader(position: BytePosition): JournalReader {
    const reader = super.reader(position)
    if (!this.#isState) return reader
    this.#isState = false
    const read = reader.read.bind(reader)
    reader.read = (wanted, tip) => {
      const batch = read(Math.min(wanted, this.#bytesMax), tip)
      if (batch.entries.length > 0) this.seen.push('read')
      return batch
    }
    return reader
  }
}

interface Following {
  readonly journal: GrowingJournal
  readonly observer: Observer
  readonly changes: Change[]
  readonly seen: Seen[]
  until(seq: number): Promise<void>
}

/** An observer whose consumer has been handed everything there is, and waits. */
async function following(t: Test, bytesMax = Number.POSITIVE_INFINITY): Promise<Following> {
  const journal = journalIn(t)
  const seen: Seen[] = []
  const changes: Change[] = []
  const { eventsDir } = journal
  const source = new WatchedSource(eventsDir, seen, bytesMax)
  const observer = await openObserverWith({ eventsDir, cursors: memoryCursors() }, { pace: PACE, source })
  observer.onInvalidate(() => seen.push('told'))
  const consumed = (async () => {
    for await (const change of observer.changes()) {
      seen.push('handed')
      changes.push(change)
    }
  })()
  t.teardown(async () => {
    await observer.close()
    await consumed
  })
  const until = async (seq: number): Promise<void> => {
    while ((changes.at(-1)?.cursor.seq ?? 0) < seq) await turn()
  }
  journal.grow(1)
  await until(2)
  await observer.waitFor(2)
  await turn()
  seen.length = 0
  changes.length = 0
  return { journal, observer, changes, seen, until }
}

const seqsOf = (changes: readonly Change[]): number[] =>
  changes.flatMap(({ records }) => records.map(({ seq }) => seq))

const from = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i)

const bytesOf = ({ records }: Change): number =>
  records.reduce((sum, { raw }) => sum + JSON.stringify(raw).length, 0)

t.test(
  'parts - the first lines of a large write are handed over before the last are read (OB-53)',
  async t => {
    const { journal, changes, seen, until } = await following(t)
    journal.grow(1000, { payload: { schema_version: 1, content } })
    await until(1002)
    t.same(seqsOf(changes), from(3, 1002))
    t.ok(seen.indexOf('handed') < seen.lastIndexOf('read'))
    t.ok(seen.filter(what => what === 'handed').length >= 8)
    for (const change of changes) t.ok(bytesOf(change) <= PART, 'no more than a part at a time')
  },
)

t.test('parts - also without a state, and a consumer that has not waited gets more', async t => {
  const journal = journalIn(t)
  const tail = await openTail({ eventsDir: journal.eventsDir, cursors: memoryCursors() })
  t.teardown(() => tail.close())
  const sizes: number[] = []
  setTimeout(() => journal.grow(1000, { payload: { schema_version: 1, content } }), 20)
  for await (const change of tail.changes()) {
    sizes.push(bytesOf(change))
    if (change.cursor.seq === journal.seq) break
  }
  t.ok((sizes[0] ?? 0) <= PART, 'a part for a consumer that waited')
  t.ok((sizes[1] ?? 0) > 2 * PART, 'and then as much as there is')
})

t.test('parts - so are those of a large write of small transactions (OB-53)', async t => {
  const { journal, changes, seen, until } = await following(t)
  // One commit of many, none of which ends where a part does.
  const lines = from(1, 1000).map(at =>
    journal.line({
      tx: { id: `run ${Math.ceil(at / 10)}`, i: ((at - 1) % 10) + 1, n: 10 },
      payload: { schema_version: 1, content },
    }),
  )
  journal.append(lines.join(''))
  await until(1002)
  t.same(seqsOf(changes), from(3, 1002))
  t.ok(seen.indexOf('handed') < seen.lastIndexOf('read'))
  t.ok(seen.filter(what => what === 'handed').length >= 8)
})

t.test('parts - during each of them, the state shows what was handed over', async t => {
  const { journal, observer, until } = await following(t)
  const odd: number[] = []
  let looked = 0
  observer.onInvalidate(() => {
    // Told after the state changed: the newest of what was read is there.
    if (observer.state.get('message', `river/${observer.head.seq}`) === undefined) odd.push(observer.head.seq)
  })
  journal.grow(1000, { payload: { schema_version: 1, content } })
  for (const pending = until(1002).then(() => true); ; looked++) {
    const { seq } = observer.head
    if (seq > 1 && observer.state.get('message', `river/${seq}`) === undefined) odd.push(seq)
    if (await Promise.race([pending, turn(false)])) break
  }
  t.same(odd, [])
  t.ok(looked > 0)
  t.equal(observer.state.size, 1001)
})

t.test('parts - a writer that never pauses does not keep the state waiting (OB-55)', async t => {
  const { journal, observer, changes, seen, until } = await following(t, 1500)
  journal.grow(1000, { payload: { schema_version: 1, content } })
  await until(1002)
  t.same(seqsOf(changes), from(3, 1002))
  await observer.waitFor(1002)
  await turn()
  let run = 0
  let longest = 0
  for (const what of seen) {
    if (what === 'read') longest = Math.max(longest, ++run)
    else if (what === 'told') run = 0
  }
  t.ok(seen.filter(what => what === 'read').length > 300)
  t.ok(longest <= 18, `${longest} parts before the state showed one`)
})

t.test('parts - a transaction of several parts is handed over in one piece (OB-15, OB-53)', async t => {
  const { journal, observer, changes, until } = await following(t)
  const lines = from(1, 600).map(i =>
    journal.line({ tx: { id: 'run', i, n: 600 }, payload: { schema_version: 1, content } }),
  )
  journal.append(lines.join(''))
  journal.grow(300, { payload: { schema_version: 1, content } })
  await until(902)
  t.same(seqsOf(changes), from(3, 902))
  t.same(seqsOf(changes.slice(0, 1)).slice(0, 600), from(3, 602))
  t.same(observer.anomalies, {})
})

t.test('parts - writes of every length around what a read-ahead takes are read once each', async t => {
  const { journal, observer, changes, until } = await following(t)
  const first = journal.seq + 1
  for (const length of [PART - 1, PART, PART + 1, 2 * PART - 1, 2 * PART, 2 * PART + 1, 9 * PART]) {
    const line = journal.line({ payload: { schema_version: 1, content: '' } })
    const rest = length - line.length
    // One line so long, and many with a last one that makes them so long together.
    journal.append(line.replace('"content":""', `"content":"${'y'.repeat(rest)}"`))
    await until(journal.seq)
    let lines = ''
    while (lines.length < length - 1500) lines += journal.line({ payload: { schema_version: 1, content } })
    const last = journal.line({ payload: { schema_version: 1, content: '' } })
    journal.append(
      lines + last.replace('"content":""', `"content":"${'z'.repeat(length - lines.length - last.length)}"`),
    )
    // And one more, before anything of it can have been looked at.
    journal.grow(1)
    await turn()
    journal.grow(1)
    await until(journal.seq)
  }
  t.same(seqsOf(changes), from(first, journal.seq))
  t.same(observer.anomalies, {})
})

t.test('parts - a consumer that lags is handed nothing that the state does not show', async t => {
  const journal = journalIn(t)
  const { eventsDir } = journal
  const observer = await openObserverWith({ eventsDir, cursors: memoryCursors() }, { pace: PACE })
  t.teardown(() => observer.close())
  const behind: number[] = []
  const all: number[] = []
  let wrote = 0
  // A consumer begins at the head: there must be something behind it.
  setTimeout(() => journal.grow(1), 20)
  for await (const { records, cursor } of observer.changes()) {
    for (const { seq } of records) {
      all.push(seq)
      if (observer.state.get('message', `river/${seq}`) === undefined) behind.push(seq)
    }
    if (observer.head.seq < cursor.seq) behind.push(cursor.seq)
    // Written while the consumer is busy: what it reads by itself then may be more than the state has read.
    if (wrote++ < 20) {
      await turn()
      journal.grow(300, { payload: { schema_version: 1, content } })
      if (wrote % 3 === 0) await turn()
    } else if (cursor.seq === journal.seq) break
  }
  t.same(behind, [])
  t.same(all, from(2, journal.seq))
})
