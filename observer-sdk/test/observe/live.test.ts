import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { memoryCursors, type Observer, openObserver } from '@kim/observer-sdk'
import t, { type Test } from 'tap'

const writer = fileURLToPath(new URL('writer.js', import.meta.url))

async function startWriter(eventsDir: string, total: number, largest: number): Promise<ChildProcess> {
  const child = spawn(process.execPath, [writer, eventsDir, String(total), String(largest)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  return child
}

/** Follows to the end; every observer must have been handed every record once, in order. */
async function follow(t: Test, total: number, largest: number, observers: number): Promise<void> {
  const eventsDir = join(t.testdir({}), 'events')
  const child = await startWriter(eventsDir, total, largest)
  const opened: Observer[] = []
  for (let i = 0; i < observers; i++) {
    opened.push(await openObserver({ eventsDir, cursors: memoryCursors(), from: 'start' }))
  }
  const followed = opened.map((observer, i) => seqsOf(observer, total, i % 4 === 3 ? 30 : 0))
  child.stdin?.end('go\n')
  await once(child, 'exit')
  const expected = Array.from({ length: total }, (_, i) => i + 1)
  for (const [i, seqs] of (await Promise.all(followed)).entries()) {
    t.same(seqs, expected, `observer ${i} missed nothing and repeated nothing`)
  }
  const digests = new Set(opened.map(observer => observer.digest()))
  t.equal(digests.size, 1, 'all see one state')
  const fresh = await openObserver({ eventsDir, cursors: memoryCursors() })
  t.same([...digests], [fresh.digest()], 'it is what a fresh observer sees (RC-20)')
  t.equal(fresh.head.seq, total)
  for (const observer of [...opened, fresh]) {
    t.same(observer.anomalies, {}, 'nothing was odd')
    await observer.close()
  }
}

async function seqsOf(observer: Observer, last: number, pauseMs: number): Promise<number[]> {
  const seqs: number[] = []
  for await (const change of observer.changes()) {
    for (const { seq } of change.records) seqs.push(seq)
    if (change.gap !== undefined) seqs.push(-1)
    if (pauseMs > 0) await sleep(pauseMs)
    if (change.cursor.seq >= last) break
  }
  return seqs
}

t.test(
  'following - single records in bursts, across rolls and parked segments, twenty observers',
  async t => {
    await follow(t, 500, 3, 20)
  },
)

t.test('following - batches of a thousand records', async t => {
  await follow(t, 12_000, 1000, 4)
})

t.test('following - one observer that reads and one that only waits for a seq', async t => {
  const eventsDir = join(t.testdir({}), 'events')
  const child = await startWriter(eventsDir, 300, 5)
  const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
  const exited = once(child, 'exit')
  child.stdin?.end('go\n')
  await observer.waitFor(300)
  t.equal(observer.head.seq, 300)
  t.ok(observer.state.size > 0)
  await observer.close()
  await exited
})
