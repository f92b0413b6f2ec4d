import { Signal, type Timers } from '@kim/manifest'
import t from 'tap'

/** Timers that a test runs by hand. */
class HandTimers implements Timers {
  readonly running = new Map<() => void, number>()

  after(ms: number, run: () => void): () => void {
    this.running.set(run, ms)
    return () => void this.running.delete(run)
  }

  fire(): void {
    for (const run of [...this.running.keys()]) run()
  }
}

/** Says whether a promise has resolved once every callback at hand has run. */
async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false
  void promise.then(() => {
    done = true
  })
  await new Promise(resolve => setImmediate(resolve))
  return done
}

t.test('signal - a raise ends a sleep and takes its timer away', async t => {
  const [signal, timers] = [new Signal(), new HandTimers()]
  const sleep = signal.sleep(50, timers)
  t.same([...timers.running.values()], [50])
  t.notOk(await isDone(sleep))
  t.ok(signal.raise(), 'somebody waited')
  t.ok(await isDone(sleep))
  t.equal(timers.running.size, 0)
  t.notOk(await isDone(signal.sleep(undefined, timers)), 'the raise counts once')
})

t.test('signal - a raise while no sleep is under way ends the next one at once', async t => {
  const [signal, timers] = [new Signal(), new HandTimers()]
  t.notOk(signal.raise(), 'nothing waited')
  signal.raise()
  t.ok(await isDone(signal.sleep(undefined, timers)))
  const next = signal.sleep(50, timers)
  t.notOk(await isDone(next), 'two raises end one sleep')
  timers.fire()
  t.ok(await isDone(next))
})

t.test('signal - a raise between the end of a sleep and what follows it belongs to that sleep', async t => {
  const [signal, timers] = [new Signal(), new HandTimers()]
  const sleep = signal.sleep(undefined, timers)
  signal.raise()
  signal.raise()
  await sleep
  t.notOk(await isDone(signal.sleep(undefined, timers)))
})

t.test('signal - time ends a sleep and leaves nothing behind', async t => {
  const [signal, timers] = [new Signal(), new HandTimers()]
  const sleep = signal.sleep(50, timers)
  timers.fire()
  t.ok(await isDone(sleep))
  t.equal(timers.running.size, 0)
  t.notOk(signal.raise(), 'the sleep that timed out waits no more')
})

t.test('signal - no time left is no sleep, and no timer', async t => {
  const [signal, timers] = [new Signal(), new HandTimers()]
  for (const ms of [0, -5]) t.ok(await isDone(signal.sleep(ms, timers)), String(ms))
  t.equal(timers.running.size, 0)
})

t.test('signal - next waits unless it was raised since its count was read', async t => {
  const signal = new Signal()
  const before = signal.count
  const waits = [signal.next(before), signal.next(before)]
  t.ok(signal.raise())
  for (const wait of waits) t.ok(wait !== undefined && (await isDone(wait)), 'every wait ends')
  t.equal(signal.next(before), undefined, 'raised since')
  const wait = signal.next(signal.count)
  t.notOk(wait === undefined || (await isDone(wait)))
  t.ok(signal.raise())
  t.notOk(signal.raise(), 'a wait that ended waits no more')
})
