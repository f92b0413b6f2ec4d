import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Continuity, type ReadRecord } from '@kim/manifest'
import { repairStore } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { JournalState } from '../../dist/journal/journal-state.js'
import { LostMail, type ProgressByInbox } from '../../dist/journal/lost-mail.js'
import { type Line, message, messages, persona, TestStore } from '../kit/store.js'

type Said = Pick<ReadRecord, 'item_type' | 'item_id' | 'payload'> & { readonly action?: string }

const mail = (id: number, persona = 'river', action = 'create'): Said => ({
  ...{ action, item_type: 'message', item_id: `${persona}/${id}` },
})
const inbox = (cursor: number): Said => ({ item_type: 'persona', item_id: 'river', payload: { cursor } })
const pin = (cursor_at: number, status = 'open', proven_down_to = 90): Said => ({
  ...{ item_type: 'alert', item_id: 'river/bounded-window' },
  payload: { status, cursor_at, walk: { next_before_id: 95, proven_down_to } },
})
const lossPin = (at: number): Said => pin(at, 'open', Number.MAX_SAFE_INTEGER)
const repair = (from: number, to: number): Said => ({
  ...{ action: 'seq_repair', item_type: 'journal', item_id: 'seq_repair' },
  payload: { from, to, reason: 'lost' },
})
const other: Said = { item_type: 'gate', item_id: 'g', payload: {} }
/** A number that no line holds. */
const lost = undefined

/** A hole that is named already: from here on, what the records say is followed. */
const opening = [lost, repair(1, 1)]

/** The pins for a journal of these records, the first of which has number 3: `<inbox> <cursor_at>`. */
function pinsOf(records: readonly (Said | undefined)[], before?: ProgressByInbox): string[] {
  const found = new LostMail(new Continuity(0), () => before ?? new Map())
  for (const [at, said] of (before === undefined ? [...opening, ...records] : records).entries()) {
    if (said === undefined) continue
    found.see(at + 1)
    found.effective({ action: 'update', ...said, seq: at + 1, v: 2 } as unknown as ReadRecord)
  }
  return found
    .pins(new JournalState())
    .map(({ agent, payload }) => `${agent} ${String(payload?.['cursor_at'])}`)
}

const cases: readonly {
  readonly what: string
  readonly records: readonly (Said | undefined)[]
  readonly before?: ProgressByInbox
  readonly pins: readonly string[]
}[] = [
  { what: 'nothing is lost', records: [mail(1), mail(2)], pins: [] },
  { what: 'a message behind a hole', records: [mail(1), mail(2), lost, mail(4)], pins: ['river 2'] },
  { what: 'no record of an inbox behind the hole', records: [mail(1), lost, other], pins: [] },
  { what: 'a persona record behind a hole', records: [mail(1), lost, inbox(4)], pins: ['river 1'] },
  { what: 'a hole before the first record of an inbox', records: [other, lost, mail(4)], pins: ['river 0'] },
  { what: 'a cursor above the messages', records: [mail(1), inbox(9), lost, mail(12)], pins: ['river 9'] },
  {
    what: 'a message that was deleted',
    records: [mail(5, 'river', 'delete'), lost, mail(8)],
    pins: ['river 5'],
  },
  { what: 'an open pin that is lower', records: [mail(9), pin(3), lost, mail(12)], pins: ['river 3'] },
  {
    what: 'a pin that was cleared before',
    records: [pin(3), mail(9), pin(3, 'cleared'), lost, mail(12)],
    pins: ['river 9'],
  },
  {
    what: 'a pin that the lost commit cleared',
    records: [pin(3), mail(9), lost, pin(3, 'cleared')],
    pins: ['river 3'],
  },
  {
    what: 'a pin behind the hole that is lower',
    records: [mail(9), lost, pin(3), mail(12)],
    pins: ['river 3'],
  },
  {
    what: 'two holes, the first decides',
    records: [mail(1), lost, mail(3), lost, mail(5)],
    pins: ['river 1'],
  },
  {
    what: 'two inboxes, in the order of their names',
    records: [mail(1, 'river'), mail(2, 'argus'), lost, mail(4, 'river'), mail(5, 'argus')],
    pins: ['argus 2', 'river 1'],
  },
  { what: 'a hole that a seq_repair names', records: [mail(1), lost, mail(3), repair(4, 4)], pins: [] },
  {
    what: 'a hole that a seq_repair names in part',
    records: [mail(1), lost, lost, mail(4), repair(4, 4)],
    pins: ['river 1'],
  },
  {
    what: 'a hole that an earlier open answered',
    records: [mail(1), lost, mail(3), lossPin(1), mail(5)],
    pins: [],
  },
  {
    what: 'a pin of an earlier open above the hole',
    records: [mail(1), lost, mail(3), lossPin(2)],
    pins: ['river 1'],
  },
  {
    what: 'a hole behind a pin of an open',
    records: [mail(1), lost, mail(3), lossPin(1), lost, mail(6)],
    pins: ['river 1'],
  },
  {
    what: 'what the journal said before the records that were read',
    records: [lost, mail(40)],
    before: new Map([['river', { highest: 30, pinnedAt: 20 }]]),
    pins: ['river 20'],
  },
]

for (const { what, records, before, pins } of cases) {
  t.test(`lost mail - ${what} (RC-7)`, async t => t.same(pinsOf(records, before), pins))
}

t.test('lost mail - what is before the first hole is asked for once, and only there', async t => {
  let asked = 0
  const found = new LostMail(new Continuity(0), () => {
    asked++
    return new Map()
  })
  for (const seq of [1, 2]) found.see(seq)
  t.equal(asked, 0)
  for (const seq of [5, 9]) found.see(seq)
  t.equal(asked, 1)
})

/** A store whose last commit, messages 10 to 19 of river, lost the lines of some of them as `how` says. */
function torn(t: Test, ids: readonly number[], how: (line: Buffer) => Buffer): TestStore {
  const store = new TestStore(t)
  store.with(journal => {
    journal.append([message(1), message(2)])
    store.clock.mono += 5
    journal.append(messages(10, 19))
  })
  const lines = readFileSync(store.segment())
    .toString()
    .split(/(?<=\n)/)
  const kept = lines.map(line =>
    ids.some(id => line.includes(`"river/${id}"`)) ? how(Buffer.from(line)) : Buffer.from(line),
  )
  writeFileSync(store.segment(), Buffer.concat(kept))
  rmSync(store.paths.meta)
  store.clock.mono += 5
  return store
}

const zeros = (line: Buffer): Buffer => Buffer.alloc(line.length)
const pinsIn = (store: TestStore): Line[] => store.notes('river/bounded-window')
const nothing = (): void => undefined

t.test('lost mail - an open pins the inbox before it names what was lost (RC-5, RC-7)', async t => {
  const store = torn(t, [12, 13, 14], zeros)
  store.with(nothing)
  const [pinned, ...more] = pinsIn(store)
  t.match(pinned, {
    ...{ action: 'create', event: 'alert' },
    payload: {
      ...{
        persona: 'river',
        kind: 'bounded-window',
        status: 'open',
        cursor_at: 11,
        reconciled: 0,
        pinned: true,
      },
      walk: { next_before_id: Number.MAX_SAFE_INTEGER, proven_down_to: Number.MAX_SAFE_INTEGER },
    },
  })
  t.same(more, [])
  const [named] = store.notes('seq_repair')
  // Without its own end, the last of them takes the next line with it.
  t.match(named?.payload, { from: 6, to: 9 })
  t.equal(named?.seq, (pinned?.seq ?? 0) + 1)
  await store.verified(t)
  store.with(nothing)
  t.equal(pinsIn(store).length, 1, 'a repaired hole is not pinned again')
  const said = store.logged.filter(({ code }) => code === 'mail_lost')
  t.match(said, [{ level: 'warn', message: 'the disk lost records, and mail of river may be among them' }])
})

t.test('lost mail - each part of step 7 has a sync of its own (RC-5)', async t => {
  const store = torn(t, [12], zeros)
  const before = store.fs.count('fdatasyncSync', 'seg-')
  store.with(nothing)
  const plain = new TestStore(t)
  plain.with(journal => journal.append([message(1)]))
  const start = plain.fs.count('fdatasyncSync', 'seg-')
  plain.with(nothing)
  const own = plain.fs.count('fdatasyncSync', 'seg-') - start
  t.equal(store.fs.count('fdatasyncSync', 'seg-') - before, own + 2)
})

t.test('lost mail - a crash between the pins and the notes leaves the notes owed (RC-7)', async t => {
  const store = torn(t, [12, 13], zeros)
  let writes = 0
  store.fs.fault = ({ name, path }) =>
    name === 'writeSync' && path.includes('seg-') && ++writes > 1 ? 'EIO' : undefined
  t.throws(() => store.open(), { code: 'store_failed' })
  store.fs.heal()
  t.equal(pinsIn(store).length, 1)
  t.same(store.notes('seq_repair'), [])
  store.with(nothing)
  t.equal(pinsIn(store).length, 1, 'the pin is there already')
  t.equal(store.notes('seq_repair').length, 1)
  t.equal(store.notes('torn_tail_adjudicated').length, 1)
  await store.verified(t)
})

t.test(
  'lost mail - lines that vanished without a trace are pinned once, and left to repair (RC-7)',
  async t => {
    const store = torn(t, [12, 13], () => Buffer.alloc(0))
    store.with(nothing)
    t.match(pinsIn(store), [{ payload: { cursor_at: 11 } }])
    store.with(journal => journal.append([message(30)]))
    t.equal(pinsIn(store).length, 1, 'another open says nothing new')
    repairStore(store.options())
    store.with(nothing)
    t.equal(pinsIn(store).length, 1)
    await store.verified(t)
  },
)

t.test('lost mail - a hole in a sealed segment that no checkpoint covers is pinned (RC-7)', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    journal.append(messages(1, 3))
    journal.roll()
    journal.append([message(4)])
  })
  const [sealed = ''] = store.segments()
  const lines = readFileSync(store.segment(sealed))
    .toString()
    .split(/(?<=\n)/)
  writeFileSync(store.segment(sealed), lines.filter(line => !line.includes('"river/2"')).join(''))
  store.with(nothing)
  t.match(pinsIn(store), [{ payload: { cursor_at: 1 } }])
})

t.test(
  'lost mail - a full disk defers the pins, and the caller who drafted without them must derive again (RC-8, JF-84)',
  async t => {
    const store = torn(t, [12], zeros)
    store.fs.break('writeSync', 'seg-', 'ENOSPC')
    const journal = store.open()
    t.equal(journal.isSettled, false)
    t.throws(() => journal.append([message(30)]), { code: 'store_full' })
    t.same(pinsIn(store), [])
    store.fs.heal()
    t.throws(() => journal.append([message(30)]), { code: 'journal_moved' })
    t.equal(pinsIn(store).length, 1)
    journal.append([message(30)])
    journal.close()
    await store.verified(t)
  },
)

t.test('lost mail - messages above the pin are not retired before its walk (JF-79)', async t => {
  const store = torn(t, [12], zeros)
  const read = [1, 2, 16, 17].map(id => message(id, { action: 'update' }, { read: true }))
  store.with(journal => journal.append([...read, persona()]))
  store.with(journal => journal.roll(), { retainRead: 0 })
  const deleted = store.lines().filter(({ action }) => action === 'delete')
  t.same(
    deleted.map(({ item_id }) => item_id),
    ['river/1', 'river/2'],
  )
})
