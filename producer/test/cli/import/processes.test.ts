import { closeSync, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { deviceOf, flockHolder } from '../../../dist/cli/import/older-monitor.js'

t.test('processes - a device is named as the kernel names it', async t => {
  t.equal(deviceOf(0xfe00n), 'fe:00')
  t.equal(deviceOf(0x1000fdn), '00:1fd', 'a minor number above 255')
})

t.test(
  'processes - KS-88 a lock is seen on every file system',
  { skip: process.platform !== 'linux' },
  async t => {
    const path = join(t.testdir({ lock: '' }), 'lock')
    const { dev, ino } = statSync(path, { bigint: true })
    const line = (place: string): string => `1: FLOCK  ADVISORY  WRITE ${process.pid} ${place} 0 EOF\n`
    t.match(flockHolder(path, line(`${deviceOf(dev)}:${ino}`)), { pid: process.pid })
    const other = line(`00:7:${ino}`)
    t.equal(flockHolder(path, other), undefined, 'the same number on another device')
    const fd = openSync(path, 'r')
    t.match(flockHolder(path, other), { pid: process.pid }, 'the process that holds it has it open')
    closeSync(fd)
    t.equal(flockHolder(join(t.testdirName, 'none'), other), undefined)
  },
)
