import fs, { appendFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { memoryCursors, type Observer, openObserver, openTail } from '@kim/observer-sdk'
import t from 'tap'

const vector = fileURLToPath(new URL('../../../spec/vectors/inbox-story/events', import.meta.url))

/** Every close reports a failure, after the system took the descriptor: as network and FUSE disks do. */
async function withFailingCloses<T>(code: string, act: () => Promise<T>): Promise<T> {
  const { closeSync } = fs
  fs.closeSync = fd => {
    closeSync(fd)
    throw Object.assign(new Error(`${code}: close`), { code, syscall: 'close' })
  }
  syncBuiltinESMExports()
  try {
    return await act()
  } finally {
    fs.closeSync = closeSync
    syncBuiltinESMExports()
  }
}

async function whole(observer: Observer): Promise<number[]> {
  const seqs: number[] = []
  for await (const { records, cursor } of observer.changes()) {
    seqs.push(...records.map(({ seq }) => seq))
    if (cursor.seq === observer.head.seq) break
  }
  return seqs
}

/** What an observer says of a journal, read from its beginning. */
async function look(): Promise<{ readonly said: object; readonly failed: number | undefined }> {
  const observer = await openObserver({ eventsDir: vector, cursors: memoryCursors(), from: 'start' })
  const seqs = await whole(observer)
  const { close_failed: failed, ...anomalies } = observer.anomalies
  const said = { anomalies, digest: observer.digest(), seqs, status: observer.status }
  await observer.close()
  return { said, failed }
}

t.test('observer - OB-27 a failed close is counted and changes nothing else', async t => {
  const clean = await look()
  const broken = await withFailingCloses('EIO', look)
  t.same(broken.said, clean.said)
  t.equal(clean.failed, undefined)
  t.ok((broken.failed ?? 0) > 0)
})

t.test('tail - OB-27 a failed close ends no reader, and what comes is handed over', async t => {
  const eventsDir = t.testdir()
  fs.cpSync(vector, eventsDir, { recursive: true })
  const [segment = ''] = fs
    .readdirSync(eventsDir)
    .filter(name => name.startsWith('seg-'))
    .sort()
    .reverse()
  const { came, seq } = await withFailingCloses('EIO', async () => {
    const tail = await openTail({ eventsDir, cursors: memoryCursors() })
    const next = tail.changes().next()
    const seq = tail.head.seq + 1
    const record = { action: 'create', agent: 'x', item_id: 'x', item_type: 'plan', seq, summary: '', v: 2 }
    const line = JSON.stringify({ ...record, ts: '2026-06-10T14:03:22.114Z', writer: 'w_1-aa' })
    appendFileSync(join(eventsDir, segment), `${line}\n`)
    const { value } = await next
    await tail.close()
    return { came: value?.records.map((one: { seq: number }) => one.seq), seq }
  })
  t.same(came, [seq])
})

t.test('observer - OB-59 a close of a descriptor that is none is a bug, and is not counted', async t => {
  const opened = withFailingCloses('EBADF', look).catch(error => error.code)
  t.equal(await opened, 'EBADF')
})
