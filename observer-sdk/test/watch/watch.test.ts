import { appendFileSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openWatch, type ScanResult } from '../../dist/watch/watch.js'

// Only where the system's word is trusted is there a slow interval to be sat out.
const skip = process.platform !== 'linux'

/** A watch whose slow interval never ends, and what its eyes saw. */
function watching(
  t: Test,
  directory: string,
  glimpses = 0,
): { seen: (string | undefined)[]; done: string[] } {
  const seen: (string | undefined)[] = []
  const done: string[] = []
  let left = glimpses
  const look = (): ScanResult => {
    const stat = statSync(directory, { throwIfNoEntry: false })
    const identity = stat === undefined ? undefined : `${stat.ino}:${stat.birthtimeMs}`
    seen.push(identity)
    done.push('look')
    return { identity, grown: false }
  }
  const glimpse = (): 'took' | 'blind' => {
    done.push('read-ahead')
    return left-- > 0 ? 'took' : 'blind'
  }
  const watch = openWatch(directory, { scan: look, readAhead: glimpse }, { slowMs: 3_600_000, fastMs: 5 })
  t.teardown(() => watch.close())
  return { seen, done }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(2)
}

/** Waits until this number stands still, with all read that the system has reported; or until it never does. */
async function settled(count: () => number): Promise<void> {
  for (let before = -1, rounds = 0; before !== count() && rounds < 100; rounds++) {
    before = count()
    await sleep(20)
    // On a busy machine the sleep may be over before the loop has looked at the reports.
    for (let turns = 0; turns < 3; turns++) await turn()
  }
}

t.test(
  'watch - OB-25 waits briskly for a directory that is gone, whatever it waited before',
  { skip },
  async t => {
    const directory = join(t.testdir({}), 'events')
    mkdirSync(directory)
    const { seen } = watching(t, directory)
    for (let round = 0; round < 3; round++) {
      await until(() => seen.at(-1) !== undefined)
      await settled(() => seen.length)
      rmSync(directory, { recursive: true })
      await until(() => seen.at(-1) === undefined)
      mkdirSync(directory)
    }
    await until(() => seen.at(-1) !== undefined)
    t.pass('the new one was found each time')
  },
)

t.test(
  'watch - C6 looks at once when something is made above an absent directory (OB-25)',
  { skip },
  async t => {
    const root = t.testdir({})
    const directory = join(root, 'stores', 'default', 'events')
    const { seen } = watching(t, directory)
    await settled(() => seen.length)
    t.ok(seen.length <= 3, 'nothing is looked at again and again')
    writeFileSync(join(root, 'log'), '')
    await settled(() => seen.length)
    const before = seen.length
    for (let n = 0; n < 20; n++) {
      appendFileSync(join(root, 'log'), 'x')
      await sleep(1)
    }
    await settled(() => seen.length)
    t.equal(seen.length, before, 'nor when a file beside it grows')
    mkdirSync(join(root, 'stores'))
    await until(() => seen.length > before)
    mkdirSync(directory, { recursive: true })
    await until(() => seen.at(-1) !== undefined)
    rmSync(join(root, 'stores'), { recursive: true })
    await until(() => seen.at(-1) === undefined)
    mkdirSync(directory, { recursive: true })
    await until(() => seen.at(-1) !== undefined)
    t.pass('the new one was found')
  },
)

t.test('watch - OB-72 a look follows the glimpses of a burst, however long it lasts', { skip }, async t => {
  for (const glimpses of [0, 1, 1_000_000]) {
    const directory = t.testdir({ [`a${glimpses}`]: '' })
    const { done } = watching(t, directory, glimpses)
    await settled(() => done.length)
    done.length = 0
    // It ends when the look was taken: a look that waits for the end of the burst never comes.
    do {
      appendFileSync(join(directory, `a${glimpses}`), 'x')
      await sleep(1)
    } while (!done.includes('look'))
    t.equal(done[0], 'read-ahead')
    done.length = 0
    await settled(() => done.length)
    t.notMatch(done, ['look', 'look', 'look'], 'one for all of it')
  }
})

t.test('watch - OB-72 a read-ahead that finds nothing is followed by a look', { skip }, async t => {
  const directory = t.testdir({})
  let looks = 0
  const look = (): ScanResult => {
    looks += 1
    return { identity: 'the same', grown: false }
  }
  const watch = openWatch(directory, { scan: look, readAhead: () => 'nothing' }, { slowMs: 3_600_000 })
  t.teardown(() => watch.close())
  await until(() => looks > 0)
  await settled(() => looks)
  const before = looks
  appendFileSync(join(directory, 'a'), 'x')
  await until(() => looks > before)
  t.pass('at once')
})

t.test('watch - OB-20 what changes during a look is looked at again', { skip }, async t => {
  const directory = t.testdir({ a: '' })
  let looks = 0
  let during = (): void => undefined
  const look = (): ScanResult => {
    looks += 1
    during()
    return { identity: 'the same', grown: false }
  }
  const watch = openWatch(directory, { scan: look, readAhead: () => 'blind' }, { slowMs: 3_600_000 })
  t.teardown(() => watch.close())
  await until(() => looks > 0)
  await settled(() => looks)
  const before = looks
  during = () => {
    if (looks === before + 1) appendFileSync(join(directory, 'a'), 'x')
  }
  appendFileSync(join(directory, 'a'), 'x')
  await until(() => looks > before + 1)
  t.pass('at once')
})

t.test('watch - OB-23 one that misses growth is broken until it reports again', { skip }, async t => {
  const directory = t.testdir({ a: '' })
  const [slowMs, fastMs] = [70_001, 70_002]
  // Each wait for the timer is noted, and is over at once.
  const waits: number[] = []
  const { setTimeout } = globalThis
  t.teardown(() => Object.assign(globalThis, { setTimeout }))
  let grown = false
  const watch = openWatch(
    directory,
    { scan: () => ({ identity: 'the same', grown }), readAhead: () => 'blind' },
    { slowMs, fastMs },
  )
  t.teardown(() => watch.close())
  Object.assign(globalThis, {
    setTimeout: (run: () => void, ms: number) => {
      if (ms === slowMs || ms === fastMs) waits.push(ms)
      return setTimeout(run, Math.min(ms, 5))
    },
  })
  const waited = (ms: number): Promise<void> => until(() => waits.at(-1) === ms)
  await waited(slowMs)
  grown = true
  await waited(fastMs)
  grown = false
  appendFileSync(join(directory, 'a'), 'x')
  await waited(slowMs)
  t.pass('what it reported proved it')
})
