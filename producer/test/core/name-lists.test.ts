import { NameLists } from '@kim/producer/internal'
import t from 'tap'

/** A list that says how many of its elements were looked at. */
function counted(names: readonly string[]): { readonly list: string[]; readonly looks: () => number } {
  let looks = 0
  const list = new Proxy([...names], {
    get: (target, key, receiver) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) looks++
      return Reflect.get(target, key, receiver)
    },
  })
  return { list, looks: () => looks }
}

const NAMES = Array.from({ length: 500 }, (_, n) => `anvil-${String(n).padStart(3, '0')}`)

t.test('names - a list that stands is compared once, as long as nothing changes (KS-59, KS-91)', async t => {
  const lists = new NameLists()
  const names = lists.settle('stranded-mail', [...NAMES])
  const { list, looks } = counted(NAMES)
  t.ok(lists.isSame(list, names))
  t.ok(looks() <= NAMES.length, `${looks()} looks at ${NAMES.length} names`)
  const before = looks()
  for (let n = 0; n < 100; n++) t.ok(lists.isSame(list, lists.settle('stranded-mail', [...NAMES])))
  t.equal(looks(), before, 'it is not looked at again')
})

t.test('names - another list is distinguished, wherever it differs (KS-91)', async t => {
  const lists = new NameLists()
  const names = lists.settle('stranded-mail', [...NAMES])
  t.notOk(lists.isSame(NAMES.slice(1), names))
  t.notOk(lists.isSame([...NAMES.slice(0, -1), 'tern'], names))
  t.notOk(lists.isSame([...NAMES, 'tern'], names))
  const standing = [...NAMES]
  t.ok(lists.isSame(standing, names))
  const others = lists.settle('stranded-mail', [...NAMES, 'tern'])
  t.notOk(lists.isSame(standing, others), 'what was the same is not any more')
  t.equal(lists.settle('urgent-unanswered', [...NAMES]).length, NAMES.length, 'each alarm has its own')
  t.equal(lists.settle('stranded-mail', [...NAMES, 'tern']), others)
})
