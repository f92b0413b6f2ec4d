import { Buffer } from 'node:buffer'
import { encodeRecord, Fold, SegmentReader } from '@kim/manifest'
import t from 'tap'
import type { ImageMaker } from '../dist/fold.js'
import { Prng, seedOfRun } from './kit/prng.js'
import { record } from './kit/records.js'

let framed = 0

/** The seq and place of the newest line of an entity. */
const places: ImageMaker<string> = {
  of: ({ record: { seq }, offset, length }) => `${seq} ${offset} ${length}`,
  framed({ seq, from, to }, offset) {
    framed += 1
    return `${seq} ${offset} ${to - from}`
  },
}

const line = (fields: Parameters<typeof record>[0] | object): string =>
  encodeRecord(record(fields as Parameters<typeof record>[0]))

/** Lines of our writer whose seqs ascend, with some that only parsing can judge. */
function story(prng: Prng): string {
  const ids = ['river/1', 'river/2', 'é', 'a"b']
  const payload = { schema_version: 1 }
  let text = ''
  for (let seq = 1; seq <= 40; seq++) {
    const item = {
      seq,
      item_id: prng.pick(ids),
      item_type: prng.pick(['message', 'alert']),
      entity_rev: prng.int(9),
    }
    const change = { ...item, action: prng.pick(['create', 'update']), payload }
    const kinds = [
      () => line(change),
      () => line(change),
      () => line({ ...item, action: 'delete' }),
      () => line({ ...item, action: 'delete', payload }),
      () => line({ ...item, action: 'run_progress' }),
      () => line({ ...change, tx: { id: 't', i: 1, n: 1 } }),
      () =>
        line({
          seq,
          action: 'journal_note',
          item_type: 'journal',
          item_id: 'n',
          payload: { ...payload, kind: 'registry_genesis' },
        }),
      () => `${JSON.stringify({ v: 2, ...change, action: 'frobnicate', entity_rev: undefined })}\n`,
      () => '{"torn\n',
    ]
    text += prng.pick(kinds)()
  }
  return text
}

function folded(bytes: Buffer, isLazy: boolean): Fold<string> {
  const fold = new Fold(places)
  const reader = new SegmentReader(fold, { isLazy })
  reader.push(bytes)
  reader.finish()
  return fold
}

const stateOf = ({ entities, openHoles, highest, registryAuthoritative }: Fold<string>): object => ({
  entities: [...entities.entries()].map(entry => JSON.stringify(entry)).sort(),
  removed: [...entities.removed()].map(each => JSON.stringify(each)).sort(),
  openHoles,
  highest,
  registryAuthoritative,
})

t.test('fold - lines that are not parsed make the state that parsed ones make, OB-11', async t => {
  const prng = new Prng(seedOfRun())
  for (let run = 0; run < 400; run++) {
    const bytes = Buffer.from(story(prng))
    const strict = stateOf(folded(bytes, false))
    const lazy = stateOf(folded(bytes, true))
    if (JSON.stringify(lazy) !== JSON.stringify(strict)) {
      t.same(lazy, strict, `seed ${prng.seed}, run ${run}:\n${bytes.toString()}`)
      return
    }
  }
  t.ok(framed > 1000, `${framed} images of lines that were not parsed`)
})

t.test('fold - a tombstone that is not parsed is no record if its payload is none, OB-11', async t => {
  const text = line({ seq: 1, item_id: 'x', payload: { schema_version: 1 } })
  const tombstone = line({
    seq: 2,
    item_id: 'x',
    action: 'delete',
    entity_rev: 2,
    payload: { schema_version: 1 },
  })
  const spoilt = tombstone.replace('"schema_version":1', '"schema_version":0001')
  const fold = folded(Buffer.from(text + spoilt), true)
  t.equal(fold.entities.size, 1)
  t.equal(fold.anomalies.malformed, 1)
})
