import { EntityTable } from '@kim/manifest'
import t from 'tap'
import { Prng, seedOfRun } from './kit/prng.js'

interface Known {
  image: number | undefined
  revision: number | undefined
  stated: boolean
}

const IDS = [
  'river/1',
  'river/12',
  'é/☃',
  '__proto__',
  'a"b',
  'back\\slash',
  '\u0000',
  '\ud800',
  '',
  'x'.repeat(300),
]
const TYPES = ['message', 'persona', 'ä"', 'constructor']

t.test('entity table - agrees with a map under any order of changes', async t => {
  const prng = new Prng(seedOfRun())
  const table = new EntityTable<number>()
  const model = new Map<string, Known>()
  const keyOf = (type: string, id: string): string => JSON.stringify([type, id])
  for (let step = 0; step < 60_000; step++) {
    const type = prng.pick(TYPES)
    const id = prng.int(3) === 0 ? prng.pick(IDS) : `river/${prng.int(3000)}`
    const key = keyOf(type, id)
    const revision = prng.int(4) === 0 ? undefined : step
    const before = model.get(key)
    switch (prng.int(4)) {
      case 0:
      case 1: {
        table.put(table.take(type, id), step, revision)
        model.set(key, {
          image: step,
          revision: revision ?? before?.revision,
          stated: revision !== undefined,
        })
        break
      }
      case 2: {
        const slot = table.slotOf(type, id)
        if (slot < 0) break
        table.remove(slot, revision)
        const last = revision ?? before?.revision
        model.set(key, { image: undefined, revision: last, stated: false })
        break
      }
      default: {
        const slot = table.slotOf(type, id)
        if (slot >= 0) table.forget(slot)
        model.delete(key)
      }
    }
    if (step % 5000 === 0) check()
  }
  check()

  function check(): void {
    const live = [...model].filter(([, { image }]) => image !== undefined)
    t.equal(table.size, live.length)
    const entries = [...table.entries()]
    t.same(
      new Map(
        entries.map(({ item_type, item_id, image, entity_rev }) => [
          keyOf(item_type, item_id),
          [image, entity_rev],
        ]),
      ),
      new Map(
        live.map(([key, { image, revision, stated }]) => [key, [image, stated ? revision : undefined]]),
      ),
    )
    for (const type of TYPES) {
      const ofType = live.filter(([key]) => (JSON.parse(key) as string[])[0] === type)
      t.equal(table.counts.get(type) ?? 0, ofType.length)
      const begins = ofType.filter(([key]) => (JSON.parse(key) as string[])[1]?.startsWith('river/1'))
      t.equal([...table.slots(type, 'river/1')].length, begins.length)
    }
    t.same(
      new Map([...table.removed()].map(([type, id, revision]) => [keyOf(type, id), revision])),
      new Map(
        [...model]
          .filter(([, { image, revision }]) => image === undefined && revision !== undefined)
          .map(([key, { revision }]) => [key, revision]),
      ),
    )
    t.same(
      new Set([...table.knownSlots()].map(slot => keyOf(table.typeAt(slot), table.idAt(slot)))),
      new Set(model.keys()),
      'known slots are those of live and of removed entities',
    )
    for (const [key, { image, revision }] of model) {
      const [type, id] = JSON.parse(key) as [string, string]
      if (table.get(type, id) !== image || table.revisionOf(type, id) !== revision) t.fail(key)
    }
    t.equal(table.get('message', 'nothing'), undefined)
    t.equal(table.slotOf('nothing', 'river/1'), -1)
  }
})

t.test('entity table - has room for any number that come and are forgotten', async t => {
  const table = new EntityTable<number>()
  table.put(table.take('message', 'river/stays'), 0, undefined)
  for (let id = 0; id < 50_000; id++) {
    const slot = table.take('message', `river/${id}`)
    table.put(slot, id, 1)
    table.forget(slot)
  }
  t.equal(table.size, 1)
  t.equal(table.slotCount, 2, 'a forgotten slot is used again')
  t.equal(table.get('message', 'river/stays'), 0)
  t.equal(table.slotOf('message', 'river/49999'), -1)
})
