import { nextTurn, runAtOnce } from '@kim/manifest'
import t from 'tap'

t.test('slices - run at once to what they return', t => {
  let steps = 0
  function* work(): Generator<void, string> {
    for (; steps < 3; steps++) yield
    return 'all'
  }
  t.equal(runAtOnce(work()), 'all')
  t.equal(steps, 3)
  t.end()
})

t.test('turn - what is due in this turn of the event loop runs first', async t => {
  const order: string[] = []
  setImmediate(() => order.push('due'))
  await nextTurn()
  order.push('next')
  t.same(order, ['due', 'next'])
})

t.test('turn - an aborted signal ends the work with its reason', async t => {
  const control = new AbortController()
  await nextTurn(control.signal)
  const turn = nextTurn(control.signal)
  control.abort(new TypeError('told to end'))
  await t.rejects(turn, { name: 'TypeError', message: 'told to end' }, 'aborted while it waits')
  await t.rejects(nextTurn(control.signal), { message: 'told to end' }, 'aborted before')
})
