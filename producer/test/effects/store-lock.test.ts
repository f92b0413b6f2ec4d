import { readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { kernelLock } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { homeOf } from '../kit/home.js'

const own = { pid: process.pid, start_key: 'k', started: '2026-06-10T14:03:22.114Z' }

function lockPath(t: Test): string {
  const folder = homeOf(t)
  return join(folder, 'lock')
}

t.test('lock - the second is refused and told who holds it', async t => {
  const path = lockPath(t)
  const held = kernelLock.acquire(path, own)
  t.ok(held.held)
  t.strictSame(kernelLock.acquire(path, { ...own, start_key: 'other' }), { held: false, holder: own })
  if (held.held) held.release()
  t.equal(readFileSync(path, 'utf8'), '', 'who let go is not named any more')
  const next = kernelLock.acquire(path, own)
  t.ok(next.held, 'and the next one has it')
  if (next.held) next.release()
})

for (const [title, before] of [
  ['has not yet said who it is', ''],
  ['is still named as the dead one before it', `${JSON.stringify({ ...own, pid: 2 ** 30 })}\n`],
] as const) {
  t.test(`lock - a holder that ${title} is waited for`, async t => {
    const path = lockPath(t)
    const held = kernelLock.acquire(path, own)
    writeFileSync(path, before)
    const late = new Worker(
      `const { workerData } = require('node:worker_threads')
       setTimeout(() => require('node:fs').writeFileSync(workerData.path, workerData.text), 30)`,
      { eval: true, workerData: { path, text: `${JSON.stringify(own)}\n` } },
    )
    await new Promise(resolve => late.once('online', resolve))
    t.strictSame(kernelLock.acquire(path, own), { held: false, holder: own })
    if (held.held) held.release()
  })
}

t.test('lock - what an earlier holder wrote behind the first line says nothing', async t => {
  const path = lockPath(t)
  writeFileSync(path, `${'x'.repeat(500)}\n`)
  const held = kernelLock.acquire(path, own)
  t.equal(readFileSync(path, 'utf8'), `${JSON.stringify(own)}\n`)
  writeFileSync(path, `${JSON.stringify(own)}\nxxxx`)
  t.strictSame(kernelLock.acquire(path, own), { held: false, holder: own })
  if (held.held) held.release()
})

t.test('lock - one that cannot be looked at is not taken for lost, JF-86', async t => {
  const path = lockPath(t)
  const folder = dirname(path)
  const held = kernelLock.acquire(path, own)
  if (!held.held) throw new TypeError('it is free')
  t.teardown(() => held.release())
  t.ok(held.intact())
  const away = `${folder}-away`
  renameSync(folder, away)
  t.teardown(() => rmSync(away, { recursive: true, force: true }))
  t.notOk(held.intact(), 'nothing is there')
  symlinkSync(folder, folder)
  t.throws(() => held.intact(), { code: 'ELOOP' })
  rmSync(folder)
  writeFileSync(folder, '')
  t.notOk(held.intact(), 'a file is in the way')
})
