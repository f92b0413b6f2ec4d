import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { currentHost, kernelLock, loopTurn, systemClock, systemRandom } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { homeOf } from '../kit/home.js'

const me = { pid: process.pid, start_key: 'k', started: '2026-06-10T14:00:00.000Z' }

function lockPath(t: Test): string {
  const home = homeOf(t)
  return join(home, 'lock')
}

t.test('lock - one holder, who is named to the second, and free when released (JF-88, JF-89)', async t => {
  const path = lockPath(t)
  const first = kernelLock.acquire(path, me)
  if (!first.held) return void t.fail('a free lock is taken')
  t.same(kernelLock.acquire(path, { ...me, pid: 1 }), { held: false, holder: me })
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(first.intact(), true)
  first.release()
  const second = kernelLock.acquire(path, me)
  t.equal(second.held, true)
  if (second.held) second.release()
})

t.test('lock - is no longer intact once its file is another one', async t => {
  const path = lockPath(t)
  const held = kernelLock.acquire(path, me)
  if (!held.held) return void t.fail('a free lock is taken')
  renameSync(path, `${path}.old`)
  t.equal(held.intact(), false)
  writeFileSync(path, '')
  t.equal(held.intact(), false)
  held.release()
})

t.test('lock - the system releases it when its holder is killed (JF-88)', async t => {
  const path = lockPath(t)
  const door = import.meta.resolve('@kim/producer/internal')
  const script = `
    import { kernelLock } from ${JSON.stringify(door)}
    const lock = kernelLock.acquire(${JSON.stringify(path)}, { pid: process.pid, start_key: '', started: 'then' })
    process.stdout.write(String(lock.held))
    setInterval(() => lock.intact(), 1000)
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const [answer] = await once(child.stdout, 'data')
  t.equal(String(answer), 'true')
  t.match(kernelLock.acquire(path, me), { held: false, holder: { pid: child.pid, started: 'then' } })
  child.kill('SIGKILL')
  await once(child, 'exit')
  const mine = kernelLock.acquire(path, me)
  t.equal(mine.held, true)
  t.match(JSON.parse(readFileSync(path, 'utf8')), me, 'and it names the new holder')
  if (mine.held) mine.release()
  t.ok(existsSync(path))
})

t.test('clock - three clocks that go forward together', async t => {
  const before = [systemClock.monoMs(), systemClock.bootMs?.() ?? 0, systemClock.wallMs()]
  await new Promise(resolve => setTimeout(resolve, 20))
  const after = [systemClock.monoMs(), systemClock.bootMs?.() ?? 0, systemClock.wallMs()]
  for (const [at, ms] of after.entries()) t.ok(Number.isInteger(ms) && ms > (before[at] ?? 0))
  t.ok((after[1] ?? 0) >= (after[0] ?? 0) - 20, 'what slept is in the boot clock')
})

t.test('clock - the boot clock follows a sleep, which the wall clock tells of', async t => {
  const real = Date.now
  t.teardown(() => {
    Date.now = real
  })
  const before = systemClock.bootMs?.() ?? 0
  Date.now = () => real() + 60_000
  const after = systemClock.bootMs?.() ?? 0
  t.ok(Math.abs(after - before) < 30_000, 'it is asked again, and this machine did not sleep')
})

t.test('random and host - name one life of one process', async t => {
  t.match(systemRandom.hex(16), /^[0-9a-f]{32}$/)
  t.not(systemRandom.hex(16), systemRandom.hex(16))
  const host = currentHost()
  t.equal(host.pid, process.pid)
  t.ok(host.startKey.length > 5)
  t.same(host, currentHost(), 'the same process says the same')
})

t.test('turn - ends after every callback of the turn', async t => {
  const seen: string[] = []
  loopTurn.soon(() => void seen.push('soon'))
  await Promise.resolve().then(() => seen.push('microtask'))
  await new Promise(resolve => setImmediate(resolve))
  t.same(seen, ['microtask', 'soon'])
})
