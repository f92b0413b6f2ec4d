import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { isSoak } from '../kit/index.js'
import { breachOf, readCalls, type SystemCall } from './strace-log.js'
import { ended, scriptPath, write } from './writer-process.js'

const kimTail = fileURLToPath(new URL('../../../tail/bin/kim-tail.js', import.meta.url))

/** How long nothing happens, and the calls that a minute of nothing may cost. */
const IDLE_SECONDS = isSoak() ? 60 : 20
const IDLE_CALLS_PER_MINUTE = 30

/**
 * Before nothing happens: a directory that has just changed is listed once more at the next look, ten seconds
 * later, and the engine gives back the memory of the busy time within half a minute.
 */
const SETTLED_MS = isSoak() ? 45_000 : 20_000

/** Why nothing can be traced here, if so. */
const cannot = ((): string | false => {
  const { status, error } = spawnSync('strace', ['-o', '/dev/null', 'true'])
  if (error !== undefined) return 'strace is not installed'
  return status === 0 ? false : 'this process may not trace others'
})()

interface Traced {
  readonly calls: readonly SystemCall[]
  /** The calls of the quiet time, but for those that only wait. */
  readonly idle: readonly SystemCall[]
  readonly stdout: string
  readonly store: string
  readonly head: number
}

/** Runs a follower under strace while a store is made, filled, rolled and archived, and for a while after. */
async function trace(t: Test, command: (store: string) => readonly string[]): Promise<Traced> {
  // On a disk like a user's: what notifies and what is stat-ed depends on the file system.
  const folder = mkdtempSync(join(tmpdir(), 'kim-strace-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const store = join(folder, 'store')
  // Not beside the store: until that is made, its reader hears of all that is written there.
  const logs = mkdtempSync(join(tmpdir(), 'kim-strace-log-'))
  t.teardown(() => rmSync(logs, { recursive: true, force: true }))
  const log = join(logs, 'strace.log')
  mkdirSync(join(folder, 'home'))
  const flags = ['-f', '-y', '-ttt', '-s', '400', '-o', log, process.execPath]
  const child = spawn('strace', [...flags, ...command(store)], {
    env: { PATH: process.env['PATH'], HOME: join(folder, 'home'), UV_USE_IO_URING: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = ended(child)
  let stdout = ''
  child.stdout.on('data', chunk => {
    stdout += chunk
  })
  const { head, messages } = await write(store, { seed: 21, singles: 60, batches: 3 })
  const until = async (what: () => boolean): Promise<void> => {
    const deadline = performance.now() + 120_000
    while (!what() && performance.now() < deadline) await sleep(20)
  }
  await until(() => stdout.includes(`/${messages}"`) || stdout.includes(`"last":${head}}`))
  await sleep(SETTLED_MS)
  const from = Date.now() / 1000
  await sleep(IDLE_SECONDS * 1000)
  const to = Date.now() / 1000
  // The first process of the log is the follower's own.
  process.kill(Number(/^\d+/.exec(readFileSync(log, 'utf8'))?.[0]), 'SIGTERM')
  await end
  const calls = readCalls(log)
  const idle = calls.filter(call => call.at >= from && call.at < to && !isWaiting(call))
  return { calls, idle, stdout, store, head }
}

/** Whether a call waits or wakes. In the short run the engine's own care for its memory falls into the quiet time. */
function isWaiting({ name, text }: SystemCall): boolean {
  if (/^(epoll_p?wait\w*|futex)$/.test(name)) return true
  if (isSoak()) return false
  return /^(mmap|munmap|mprotect|madvise|brk|getpid)$/.test(name) || /^\d+<anon_inode:\[eventfd\]>/.test(text)
}

function judge(t: Test, { calls, idle, store }: Traced): void {
  const below = calls.filter(({ text }) => text.includes(store))
  t.ok(below.length > 50, `${below.length} calls name the store`)
  t.same(
    calls.map(call => breachOf(call, store)).filter(each => each !== undefined),
    [],
    'no call that a reader does not make',
  )
  const allowed = (IDLE_CALLS_PER_MINUTE * IDLE_SECONDS) / 60
  const names = idle.map(({ name }) => name)
  t.ok(idle.length < allowed, `${idle.length} calls in ${IDLE_SECONDS} idle seconds: ${names.join(' ')}`)
  t.comment(
    `${calls.length} calls, ${below.length} on the store, ${idle.length} in ${IDLE_SECONDS} s of quiet`,
  )
}

// Most of the time is spent waiting, for nothing to happen.
t.jobs = 3

t.test('strace - the judge knows a writer when it sees one', { skip: cannot }, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'kim-strace-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const log = join(folder, 'log')
  const script = scriptPath('journal-writer.js')
  const store = join(folder, 'store')
  const args = ['-f', '-y', '-ttt', '-s', '400', '-o', log, process.execPath, script, '--store', store]
  const { status } = spawnSync('strace', [...args, '--singles', '1', '--batches', '0'])
  t.equal(status, 0)
  const names = new Set(
    readCalls(log)
      .filter(call => breachOf(call, store) !== undefined)
      .map(({ name }) => name),
  )
  for (const name of ['openat', 'mkdir', 'write', 'rename']) t.ok(names.has(name), `${name} is logged`)
})

t.test(
  'strace - an embedded observer only reads the store (OB-1, OB-4, OB-26, JF-2, CO-11, RC-3)',
  { skip: cannot },
  async t => {
    const script = scriptPath('observer-child.js')
    judge(t, await trace(t, store => [script, '--events', join(store, 'events'), '--follow']))
  },
)

t.test(
  'strace - kim-tail that follows only reads the store (OB-1, OB-4, OB-26, JF-2, CO-11, RC-3)',
  { skip: cannot },
  async t => {
    judge(
      t,
      await trace(t, store => [kimTail, '--store', store, '--all-personas', '-f', '-n', 'all', '-o', 'json']),
    )
  },
)
