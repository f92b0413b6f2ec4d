import { nextTurn, runAtOnce, runInTurns } from '@kim/manifest'
import t from 'tap'

t.test('slices - run at once to what they return', async t => {
  let steps = 0
  function* work(): Generator<void, string> {
    for (; steps < 3; steps++) yield
    return 'all'
  }
  t.equal(runAtOnce(work()), 'all')
  t.equal(steps, 3)
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

t.test('slices - work is done step by step, and ends between two steps at a signal', async t => {
  const control = new AbortController()
  const done: number[] = []
  function* steps(endAt: number): Generator<void, string> {
    for (let step = 1; step <= 3; step++) {
      done.push(step)
      if (step === endAt) control.abort(new Error('told to end'))
      yield
    }
    return 'all'
  }
  t.equal(await runInTurns(steps(0), undefined), 'all')
  done.length = 0
  await t.rejects(runInTurns(steps(2), control.signal), { message: 'told to end' })
  t.same(done, [1, 2])
})
