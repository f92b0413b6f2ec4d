import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Disk, type SinkState, WatermarkFile } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { FaultyFs } from '../kit/faulty-fs.js'
import { homeOf } from '../kit/home.js'
import { codeOf, throwsCode } from '../kit/store.js'

function setUp(t: Test): {
  of: (project: string, identity: string) => WatermarkFile
  fs: FaultyFs
  dir: string
} {
  const home = homeOf(t)
  const fs = new FaultyFs()
  const dir = join(home, 'a', 'sinks')
  const disk = new Disk(fs.port, process.getuid?.(), {}, () => undefined)
  return { of: (project, identity) => new WatermarkFile(dir, project, identity, disk), fs, dir }
}

const progress: SinkState = {
  passed: { seq: 12, writer: 'w_1-aa' },
  held: [
    ['__proto__', { seq: 3, writer: null }, undefined],
    ['../x', { seq: 4, writer: 'w_1-aa' }, 'broken'],
  ],
  names: [['a/b', 'a_b']],
}

t.test('watermark file - KS-73 a watermark is private, whole and one per journal and sink', async t => {
  const { of, dir } = setUp(t)
  const watermarkFile = of('p1', 'exec-per-event')
  t.equal(watermarkFile.load(), undefined)
  watermarkFile.save(progress)
  t.same(watermarkFile.load(), progress)
  t.equal(of('p2', 'exec-per-event').load(), undefined, 'another journal')
  t.equal(of('p1', 'file:/ev').load(), undefined, 'another sink')
  t.same(readdirSync(dir), ['p1'])
  t.equal(statSync(join(dir, 'p1')).mode & 0o777, 0o700)
  t.equal(statSync(watermarkFile.path).mode & 0o777, 0o600)
})

t.test('watermark file - after any fault the old one or the new one is there, complete', async t => {
  const { of, fs } = setUp(t)
  const watermarkFile = of('p1', 'x')
  watermarkFile.save(progress)
  const next = { ...progress, passed: { seq: 13, writer: null } }
  for (const name of ['openSync', 'writeSync', 'fsyncSync', 'renameSync'] as const) {
    fs.break(name, 'p1', 'EIO')
    t.ok(
      codeOf(() => watermarkFile.save(next)),
      name,
    )
    fs.heal()
    t.ok([12, 13].includes(watermarkFile.load()?.passed.seq ?? 0), name)
  }
  fs.break('writeSync', 'p1', 5)
  throwsCode(t, 'store_full', () => watermarkFile.save(next))
  fs.heal()
  t.ok(watermarkFile.load())
})

t.test('watermark file - KS-87 what is none is refused, never taken for none', async t => {
  const { of } = setUp(t)
  const watermarkFile = of('p1', 'x')
  watermarkFile.save(progress)
  const good = readFileSync(watermarkFile.path, 'utf8')
  const value = JSON.parse(good) as Record<string, unknown>
  const spoilt = [
    '',
    'null',
    '{}',
    good.slice(0, -3),
    JSON.stringify({ ...value, schema_version: 2 }),
    JSON.stringify({ ...value, passed: [-1, null] }),
    JSON.stringify({ ...value, passed: ['1', null] }),
    JSON.stringify({ ...value, held: [['x']] }),
    JSON.stringify({ ...value, names: [['x', '../../y']] }),
    JSON.stringify({ ...value, names: [['x', '..']] }),
  ]
  for (const text of spoilt) {
    writeFileSync(watermarkFile.path, text)
    throwsCode(t, 'cursor_invalid', () => watermarkFile.load(), text)
  }
})
