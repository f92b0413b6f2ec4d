/** A payload whose blob is gone, or is not what it was: nothing may be counted as if it had been read. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { JournalMaker } from '../../observer-sdk/dist-test/verify/journal-maker.js'
import {
  collectTimeline,
  explain,
  findTurns,
  openCopy,
  Payloads,
  parsePredicate,
  stateAt,
} from '../dist/internal.js'

const payload = {
  schema_version: 1,
  persona: 'river',
  id: 1,
  from: 'argus',
  content: 'long',
  created: '2026-06-10T14:00:00Z',
  read: false,
}

/** One message whose payload stands in a blob, and a later one that is nobody's trouble. */
function journal(dir: string, isThere: boolean): { eventsDir: string; maker: JournalMaker } {
  const maker = new JournalMaker()
  maker.add({ item_id: 'river/1', event: 'new', payload_ref: maker.blob(payload) })
  maker.add({ item_id: 'river/2', event: 'new', payload: { ...payload, id: 2 } })
  if (!isThere) maker.files.clear()
  return { eventsDir: maker.write(dir), maker }
}

const name = { kind: 'message', persona: 'river', id: 1, text: 'river:new:1' } as const
const everything = {
  fromMs: Number.NEGATIVE_INFINITY,
  toMs: Number.POSITIVE_INFINITY,
  personas: [],
  createdMs: undefined,
  mode: 'none',
  title: 'x',
} as const

t.test('CL-58 blobs - one that is gone is named by every answer that needed it', async t => {
  for (const isThere of [true, false]) {
    const { eventsDir } = journal(t.testdir(), isThere)
    const copy = openCopy(eventsDir)
    const expected = isThere ? {} : { blob_missing: { count: 1, examples: [{ seq: 2 }] } }
    const state = await stateAt(copy, { kind: 'end' })
    t.match(state.missing, { exit: isThere ? 0 : 6, findings: expected })
    const found = await findTurns(copy, parsePredicate('persona.river.unread > 1'), true)
    t.match(found, { times: isThere ? 1 : 0, missing: { exit: isThere ? 0 : 6, findings: expected } })
    const told = await explain(copy, name)
    t.match(told.missing, { exit: isThere ? 0 : 6, findings: expected })
    if (!isThere) t.match(told.unknown, [/^created: its blob is missing or damaged/])
    const timeline = await collectTimeline(copy, everything)
    t.match(timeline, { missing: expected, latency: { messages: isThere ? 2 : 1, unknown: 0 } })
    t.equal((await explain(copy, { ...name, id: 2 })).missing.exit, 0, 'not needed')
  }
})

t.test('CL-58 blobs - one that is not what it was is named as verify names it', async t => {
  const { eventsDir, maker } = journal(t.testdir(), true)
  for (const path of maker.files.keys())
    writeFileSync(join(eventsDir, path), JSON.stringify({ ...payload, id: 3 }))
  const { missing } = await stateAt(openCopy(eventsDir), { kind: 'end' })
  t.match(missing, { exit: 6, findings: { blob_mismatch: { count: 1 } } })
})

t.test('payloads - a blob that is asked for again and again is read once', async t => {
  const { eventsDir, maker } = journal(t.testdir(), true)
  const payloads = new Payloads(eventsDir)
  const ref = maker.blob(payload)
  const first = payloads.of({ payload: undefined, payload_ref: ref })
  t.match(first, { id: 1 })
  for (const path of maker.files.keys()) writeFileSync(join(eventsDir, path), 'other')
  t.equal(payloads.of({ payload: undefined, payload_ref: ref }), first)
  t.same([...payloads.faults], [])
})

t.test('CL-45 find - the newest message of a persona is one that is there', async t => {
  const maker = new JournalMaker()
  for (const id of [2, 1, 3]) maker.add({ item_id: `river/${id}`, payload: { ...payload, id } })
  maker.add({ item_id: 'river/3', action: 'update', payload: { ...payload, read: true, id: 3 } })
  maker.add({ item_id: 'river/3', action: 'delete' })
  maker.add({ item_id: 'river/2', action: 'delete' })
  maker.add({ item_id: 'river/2', payload: { ...payload, id: 2 } })
  const eventsDir = maker.write(t.testdir())
  for (const [newest, seqs] of [
    [3, [4]],
    [2, [2, 6, 8]],
    [1, [7]],
  ] as const) {
    const asked = parsePredicate(`persona.river.newest == ${newest}`)
    const { found } = await findTurns(openCopy(eventsDir), asked, true)
    t.same(
      found.map(({ from }) => from?.seq),
      seqs,
    )
  }
})
