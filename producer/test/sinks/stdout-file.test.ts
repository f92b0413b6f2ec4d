import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { StdoutFile } from '@kim/producer/internal'
import t from 'tap'

t.test('stdout file - KS-87 a line that a full disk cut is ended before the next one', async t => {
  const path = join(t.testdir(), 'out')
  const fd = openSync(path, 'a')
  /** Bytes that the disk still has room for. */
  let room = 1000
  const write = ((to: number, bytes: Buffer, from: number): number => {
    if (room === 0) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    const count = writeSync(to, bytes, from, Math.min(room, bytes.length - from))
    room -= count
    return count
  }) as typeof writeSync
  const file = new StdoutFile(fd, write)
  file.append('one\n')
  room = 6
  t.throws(() => file.append('two\nthree\n'), { code: 'ENOSPC' })
  t.equal(readFileSync(path, 'utf8'), 'one\ntwo\nth')
  t.throws(() => file.append('two\nthree\n'), { code: 'ENOSPC' }, 'and full it stays')
  room = 1
  t.throws(() => file.append('two\nthree\n'), { code: 'ENOSPC' }, 'there is room for the end alone')
  room = 1000
  file.append('two\nthree\n')
  file.append('four\n')
  t.equal(readFileSync(path, 'utf8'), 'one\ntwo\nth\ntwo\nthree\nfour\n')
  closeSync(fd)
})

t.test(
  'stdout file - KS-87 what an earlier life cut is ended too',
  { skip: process.platform !== 'linux' },
  async t => {
    const path = join(t.testdir({ out: 'one\ntw' }), 'out')
    for (const text of ['two\n', 'three\n']) {
      const fd = openSync(path, 'a')
      new StdoutFile(fd).append(text)
      closeSync(fd)
    }
    t.equal(readFileSync(path, 'utf8'), 'one\ntw\ntwo\nthree\n')
  },
)
