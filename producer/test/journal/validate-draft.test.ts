import type { Draft } from '@kim/producer/internal'
import t from 'tap'
import { message, TestStore, throwsCode } from '../kit/store.js'

const note = (kind: string, payload: object, more: Partial<Draft> = {}): Draft => ({
  ...{ agent: 'kim', action: 'journal_note', item_type: 'journal', item_id: kind, summary: '' },
  payload: { schema_version: 1, kind, ...payload },
  ...more,
})

const marker = { text: 'here' }

/** Nothing that any caller means to say; types keep most of it out, and callers without types exist. */
const refused: Readonly<Record<string, unknown>> = {
  'no draft': null,
  'a text': 'x',
  'a verb that is no text': message(1, { action: 5 as unknown as string }),
  'no verb': message(1, { action: undefined as unknown as string }),
  'an id that is no text': message(1, { item_id: {} as unknown as string }),
  'no summary': message(1, { summary: undefined as unknown as string }),
  'a date for a payload': message(1, {
    payload: Object.assign(new Date(0), { schema_version: 1 }) as unknown as Draft['payload'],
  }),
  'a payload that becomes a text': message(1, {}, { toJSON: () => 'x' }),
  'a payload that becomes nothing': message(1, {}, { toJSON: () => undefined }),
  'a getter that throws': Object.defineProperty(message(1), 'agent', {
    get: () => {
      throw new Error('boo')
    },
  }),
  'a key with a lone surrogate': message(1, { key: 'a\ud800' }),
  'a long key': message(1, { key: 'k'.repeat(1025) }),
  'a long key of wide characters': message(1, { key: 'é'.repeat(513) }),
  'a long id': message(1, { item_id: 'i'.repeat(4097) }),
  'a long agent': message(1, { agent: 'i'.repeat(4097) }),
  'a marker without a text': note('store_marker', {}),
  "a marker of another's": note('store_marker', marker, { agent: 'river' }),
  'a marker under another name': note('store_marker', marker, { item_id: 'x' }),
  'a marker on a message': note('store_marker', marker, { item_type: 'message' }),
  'a redaction': note('redaction', {}),
  'a redaction about a message': message(1, {
    action: 'journal_note',
    payload: { schema_version: 1, kind: 'redaction', item_type: 'message', item_id: 'river/2', files: [] },
  }),
  'a ref': message(1, { action: 'checkpoint_ref' }),
  'a repair': message(1, { action: 'seq_repair' }),
  'an entity of the journal': message(1, { item_type: 'journal' }),
}

for (const [what, draft] of Object.entries(refused)) {
  t.test(`door - ${what} is refused with its batch alone (JF-92)`, async t => {
    const store = new TestStore(t)
    const journal = store.open()
    throwsCode(t, 'record_invalid', () => journal.append([draft as Draft]))
    const both = await Promise.allSettled([journal.submit([draft as Draft]), journal.submit([message(2)])])
    t.match(both, [{ reason: { code: 'record_invalid' } }, { status: 'fulfilled' }])
    t.equal(journal.failure, undefined)
    journal.close()
    await store.verified(t)
  })
}

t.test('door - what may be said is said (JF-92)', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    journal.append([note('store_marker', marker)])
    journal.append([message(1, { key: 'k'.repeat(1024), item_id: 'i'.repeat(4096) })])
    journal.append([message(2, {}, { when: new Date(0) })])
  })
  await store.verified(t)
})

t.test(
  'door - a name with a lone surrogate is one name in memory and on the disk (JF-12, JF-92)',
  async t => {
    const store = new TestStore(t)
    const odd = message(1, { item_id: 'x\ud800', action: 'update' })
    store.with(journal => {
      journal.append([odd])
      journal.append([odd])
      t.equal(journal.state.get('message', 'x\ufffd')?.entity_rev, 2)
      t.equal(journal.state.size, 1)
    })
    store.with(journal => {
      journal.append([odd])
      t.equal(journal.state.get('message', 'x\ufffd')?.entity_rev, 3)
      t.equal(journal.state.size, 1)
    })
    await store.verified(t)
  },
)

t.test('door - a clock that tells no time refuses what is appended and ends nothing', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    store.clock.wall = Number.NaN
    throwsCode(t, 'record_invalid', () => journal.append([message(1)]))
    store.clock.wall = Date.UTC(2026, 5, 10, 14)
    t.same(journal.append([message(1)]).seqs, [2])
  })
  await store.verified(t)
})

t.test('door - a record called a redaction by somebody else erases nothing (JF-76)', async t => {
  const store = new TestStore(t)
  store.with(journal => journal.append([message(1)]))
  const [line] = store.lines().filter(({ item_type }) => item_type === 'message')
  const files = [{ segment: store.segments()[0], before: { bytes: 1, sha256: 'a'.repeat(64) } }]
  store.scribble(
    `${JSON.stringify({
      ...line,
      ...{ seq: 3, action: 'journal_note', item_id: 'x', entity_rev: 0 },
      payload: { schema_version: 1, kind: 'redaction', item_type: 'message', item_id: 'river/1', files },
    })}\n`,
  )
  store.with(journal => {
    t.equal(journal.state.get('message', 'river/1')?.payload?.['redacted'], undefined)
    journal.append([message(2)])
  })
})
