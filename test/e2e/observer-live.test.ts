import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Change, memoryCursors, type Observer, openObserver } from '@kim/observer-sdk'
import { openJournal } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { fastTmpdir, isSoak } from '../kit/index.js'
import { latenciesOf, levelSince, type Moment, nowMs } from './latency.js'
import { followByTail } from './tail-process.js'
import { ended, scriptPath, write } from './writer-process.js'

const OBSERVERS = 20

function scratch(t: Test): string {
  const folder = mkdtempSync(join(fastTmpdir(), 'kim-live-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A consumer that takes everything, at its own pace, and keeps what it was handed. */
class Consumer {
  readonly seqs: number[] = []
  readonly gaps: unknown[] = []
  readonly arrivals: Moment[] = []
  readonly observer: Observer
  readonly done: Promise<void>

  constructor(observer: Observer, pause = 0) {
    this.observer = observer
    this.done = this.#consume(pause)
  }

  async #consume(pause: number): Promise<void> {
    for await (const change of this.observer.changes()) {
      const now = nowMs()
      if (change.gap !== undefined) this.gaps.push(change.gap)
      for (const { seq } of change.records) this.seqs.push(seq)
      this.arrivals.push([change.cursor.seq, now])
      if (pause > 0) await sleep(pause)
    }
  }

  /** Until everything up to `head` was handed over. */
  async reach(head: number): Promise<void> {
    const deadline = performance.now() + 240_000
    while ((this.seqs.at(-1) ?? 0) < head && performance.now() < deadline) await sleep(5)
  }

  async end(): Promise<void> {
    await this.observer.close()
    await this.done
  }
}

/** The first place where one seq does not follow the other. */
function firstBreak(seqs: readonly number[]): string | undefined {
  const at = seqs.findIndex((seq, index) => index > 0 && seq !== (seqs[index - 1] as number) + 1)
  return at === -1 ? undefined : `${seqs[at - 1]} is followed by ${seqs[at]}`
}

function percentiles(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(1)
  return `p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms of ${values.length}`
}

t.test(
  'observer - twenty follow bursts over rolls, checkpoints and archive moves (OB-14, OB-17)',
  async t => {
    const store = scratch(t)
    const eventsDir = join(store, 'events')
    const open = (from: 'start' | 'head'): Promise<Observer> =>
      openObserver({ eventsDir, cursors: memoryCursors(), from })
    const early: Consumer[] = []
    // Most are there before the directory is; one is slow, and loses nothing by it.
    for (let n = 0; n < OBSERVERS - 4; n++)
      early.push(new Consumer(await open(n % 2 === 0 ? 'start' : 'head'), n === 0 ? 20 : 0))
    t.equal(early[0]?.observer.status.kind, 'no_store')
    const size = isSoak() ? { singles: 2000, batches: 200 } : { singles: 80, batches: 6 }
    const mirror = join(store, 'mirror')
    writeFileSync(mirror, '')
    const tail = followByTail(mirror)
    const writing = write(store, { seed: 11, mirror, ...size })
    await early[0]?.observer.waitFor(500)
    const late = await Promise.all(
      (['start', 'head', 'start', 'head'] as const).map(async from => new Consumer(await open(from))),
    )
    const { head, messages, writes } = await writing
    const all = [...early, ...late]
    await Promise.all(all.map(consumer => consumer.reach(head)))
    const archived = readdirSync(join(eventsDir, 'archive')).length
    t.ok(archived > 0, 'segments were moved to the archive meanwhile')
    t.same(
      all.map(({ seqs }) => firstBreak(seqs)).filter(each => each !== undefined),
      [],
      'no record is missed or repeated',
    )
    t.same([...new Set(all.map(({ seqs }) => seqs.at(-1)))], [head], 'all came to the head')
    t.same(
      [...new Set(early.map(({ seqs }) => seqs[0]))],
      [1],
      'those that waited for the store have all of it',
    )
    t.same([late[0]?.seqs[0], late[2]?.seqs[0]], [1, 1], 'late ones that ask for it have all of it')
    t.same(
      all.flatMap(({ gaps }) => gaps),
      [],
      'a roll or a move is no gap',
    )
    const fresh = await open('head')
    t.same([...new Set(all.map(({ observer }) => observer.digest()))], [fresh.digest()], 'one state')
    await fresh.close()
    await Promise.all(all.map(consumer => consumer.end()))
    t.comment(`${OBSERVERS} observers, ${head} records (${messages} messages), ${archived} files archived`)
    const written = writes.map(([seq, , ms]): Moment => [seq, ms])
    const mirrored = writes.map(([seq, ms]): Moment => [seq, ms])
    const quick = all.slice(1).map(({ arrivals }) => ({ arrivals, since: levelSince(written, arrivals) }))
    const [began = 0] = written.map(([, ms]) => ms)
    const level = Math.max(...quick.map(({ since }) => since))
    const beside = latenciesOf(mirrored, await tail.arrivals(), level)
    const handed = quick.flatMap(({ arrivals }) => latenciesOf(written, arrivals, level))
    t.comment(
      `all are level ${(level - began).toFixed(0)} ms after the first record of a store that was not there`,
    )
    t.comment(`append to tail -F:   ${percentiles(beside)}`)
    t.comment(`append to hand-over: ${percentiles(handed)} (to reach: p99 60 ms)`)
  },
)

t.test(
  'observer - a store deleted and created again is followed from its first record (OB-25, OB-50)',
  async t => {
    const store = scratch(t)
    const eventsDir = join(store, 'events')
    const first = await write(store, { seed: 1, singles: 5, batches: 0 })
    const consumer = new Consumer(await openObserver({ eventsDir, cursors: memoryCursors(), from: 'start' }))
    await consumer.reach(first.head)
    t.same(
      consumer.seqs,
      Array.from({ length: first.head }, (_, at) => at + 1),
    )
    for (const round of [2, 3]) {
      rmSync(store, { recursive: true })
      const deadline = performance.now() + 120_000
      while (round === 2 && consumer.observer.status.kind !== 'no_store' && performance.now() < deadline)
        await sleep(5)
      if (round === 2) t.equal(consumer.observer.status.kind, 'no_store')
      consumer.seqs.length = 0
      const next = await write(store, { seed: round, singles: 8 + round, batches: 0 })
      await consumer.reach(next.head)
      t.same(
        consumer.seqs,
        Array.from({ length: next.head }, (_, at) => at + 1),
        `store ${round}`,
      )
      t.equal(consumer.observer.projectId, next.project_id)
    }
    t.equal(consumer.observer.status.kind, 'live')
    await consumer.end()
  },
)

t.test('observer - a read-only directory is read like any other (OB-1)', async t => {
  const store = scratch(t)
  const eventsDir = join(store, 'events')
  const { head, project_id } = await write(store, { seed: 4, singles: 6, batches: 2 })
  const modes = (directory: number, file: number): void => {
    chmodSync(store, directory)
    for (const entry of readdirSync(eventsDir, { recursive: true, withFileTypes: true }))
      chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? directory : file)
    chmodSync(eventsDir, directory)
  }
  modes(0o555, 0o444)
  t.teardown(() => modes(0o755, 0o644))
  const isRoot = process.getuid?.() === 0
  // Root may write anywhere, so it looks as somebody else.
  const owner = isRoot ? { uid: 65_534, gid: 65_534 } : {}
  const child = spawn(process.execPath, [scriptPath('observer-child.js'), '--events', eventsDir], {
    ...owner,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { code, stdout, stderr } = await ended(child).catch((error: Error) => ({
    code: -1,
    stdout: '',
    stderr: error.message,
  }))
  if (isRoot && code !== 0 && /EACCES|permission denied/i.test(stderr)) {
    t.pass('as another user', { skip: 'the checkout cannot be read by another user' })
    return
  }
  t.equal(code, 0, stderr)
  t.match(JSON.parse(stdout), { head, project_id, status: 'live', records: head })
})

t.test('consumer - that dies before it asks for the next change is handed it again (OB-54)', async t => {
  const store = scratch(t)
  const eventsDir = join(store, 'events')
  const journal = openJournal({ storeDir: store, source: 'http://localhost:7474' })
  t.teardown(() => journal.close())
  const note = (text: string): void => {
    journal.append([
      { agent: 'river', action: 'session_start', item_type: 'session', item_id: text, summary: text },
    ])
  }
  note('one')
  note('two')
  const cursors = memoryCursors()
  const summaries = ({ records }: Change): string[] =>
    records.map(({ summary }) => summary ?? '').filter(Boolean)
  const take = async (): Promise<string[]> => {
    const observer = await openObserver({ eventsDir, cursors, from: 'start' })
    try {
      for await (const change of observer.changes()) return summaries(change)
      return []
    } finally {
      await observer.close()
    }
  }
  const once = await take()
  t.ok(once.includes('one') && once.includes('two'))
  t.same(await take(), once, 'the same again')

  // Asking for the next is what says that the first was dealt with.
  const observer = await openObserver({ eventsDir, cursors, from: 'start' })
  const changes = observer.changes()
  t.same(summaries((await changes.next()).value as Change), once)
  const pulled = changes.next()
  await sleep(50)
  note('three')
  t.same(summaries((await pulled).value as Change), ['three'])
  await observer.close()
  t.same(await take(), ['three'], 'the last one was not asked beyond')
})

t.test('consumer - killed in the middle of a change is handed it again (OB-54)', async t => {
  const store = scratch(t)
  const eventsDir = join(store, 'events')
  const cursors = scratch(t)
  const { head } = await write(store, { seed: 5, singles: 3, batches: 14, 'segment-bytes': 2_000_000 })
  const seen: number[][] = []
  for (let round = 0; round < 4; round++) {
    const flags = ['--events', eventsDir, '--cursors', cursors, '--die-after', round === 0 ? '0' : '1']
    const child = spawn(process.execPath, [scriptPath('observer-child.js'), ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { stdout } = await ended(child)
    const changes = stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as { first: number; last: number })
    seen.push(changes.map(({ first }) => first))
    if (round === 0) continue
    const before = seen[round - 1] ?? []
    t.equal(seen[round]?.[0], before.at(-1), `round ${round} begins with the change the last one died in`)
  }
  t.ok(head > 1000)
})
