import {
  announcedLoss,
  belongsInBlob,
  clipSummary,
  encodeMeta,
  errorCodes,
  fitsCommit,
  invariant,
  isKeyForgettable,
  isSegmentFull,
  KimError,
  limits,
  parseMeta,
  RingBuffer,
  seqRoom,
} from '@kim/manifest'
import t from 'tap'
import { assertLimits } from '../dist/limits.js'

t.test('summary - is cut at 200 code points, never inside a character', async t => {
  t.equal(clipSummary('x'.repeat(200)), 'x'.repeat(200))
  t.equal(clipSummary('x'.repeat(201)), 'x'.repeat(200))
  t.equal(clipSummary('😀'.repeat(200)), '😀'.repeat(200))
  t.equal(clipSummary('😀'.repeat(201)), '😀'.repeat(200))
  t.equal(clipSummary(`${'x'.repeat(199)}😀y`), `${'x'.repeat(199)}😀`)
  t.equal(
    clipSummary(`${'\ud83d'.repeat(200)}x`),
    '\ud83d'.repeat(200),
    'halves of characters count one each',
  )
  t.equal(clipSummary(''), '')
})

t.test('payload - goes to a blob above 64 KiB, JF-51', async t => {
  t.notOk(belongsInBlob(65_536))
  t.ok(belongsInBlob(65_537))
})

t.test('commit - holds 1000 records and 1 MiB, JF-83', async t => {
  t.ok(fitsCommit(1000, 1_048_576))
  t.notOk(fitsCommit(1001, 1))
  t.notOk(fitsCommit(1, 1_048_577))
})

t.test('segment - is full at 10 MiB unless set otherwise, JF-61', async t => {
  t.notOk(isSegmentFull(10_485_759))
  t.ok(isSegmentFull(10_485_760))
  t.ok(isSegmentFull(4096, 4096))
  t.notOk(isSegmentFull(4095, 4096))
})

t.test('seq - is loud from 90 % on and none is left above 99 999 999, JF-45', async t => {
  t.equal(seqRoom(1), 'plenty')
  t.equal(seqRoom(89_999_999), 'plenty')
  t.equal(seqRoom(90_000_000), 'few')
  t.equal(seqRoom(99_999_999), 'few')
  t.equal(seqRoom(100_000_000), 'none')
})

t.test('keys - are remembered for 30 days, JF-73', async t => {
  t.notOk(isKeyForgettable(2_592_000_000))
  t.ok(isKeyForgettable(2_592_000_001))
})

t.test('meta - may be 10 000 ahead, more is wrong, row M5 and M6', async t => {
  const meta = (next_seq: number): { project_id: string; next_seq: number } => ({ project_id: 'p', next_seq })
  t.same(announcedLoss(meta(10_005), 'p', 5), { from: 5, to: 10_004 })
  t.equal(announcedLoss(meta(10_006), 'p', 5), undefined)
  t.same(announcedLoss(meta(6), 'p', 5), { from: 5, to: 5 })
  t.equal(announcedLoss(meta(5), 'p', 5), undefined)
  t.equal(announcedLoss(meta(4), 'p', 5), undefined)
  t.equal(announcedLoss(meta(6), 'another', 5), undefined)
})

t.test('meta - is read if it states a project and a number, JF-87', async t => {
  const text = encodeMeta({ project_id: 'p', next_seq: 7 }, 'seg-00000001.jsonl')
  t.equal(text, '{"active_segment":"seg-00000001.jsonl","entity_revs":{},"next_seq":7,"project_id":"p"}\n')
  t.same(parseMeta(text), { project_id: 'p', next_seq: 7 })
  for (const bad of [
    '',
    '{',
    '[]',
    'null',
    '{"project_id":1,"next_seq":7}',
    '{"project_id":"p","next_seq":0}',
  ]) {
    t.equal(parseMeta(bad), undefined, bad)
  }
})

t.test('ring - keeps the newest, oldest first', async t => {
  const ring = new RingBuffer<number>(3)
  t.same(ring.toArray(), [])
  for (const [n, expected] of [
    [1, [1]],
    [2, [1, 2]],
    [3, [1, 2, 3]],
    [4, [2, 3, 4]],
    [5, [3, 4, 5]],
    [6, [4, 5, 6]],
    [7, [5, 6, 7]],
  ] as const) {
    ring.push(n)
    t.same(ring.toArray(), expected)
  }
})

t.test('relations - a limit that does not fit the others is a bug at load', async t => {
  t.doesNotThrow(() => assertLimits(limits))
  const misfits = {
    payloadInlineBytesMax: limits.lineWrittenBytesMax,
    summaryCodePointsMax: limits.lineWrittenBytesMax,
    personaNameBytesMax: limits.lineWrittenBytesMax,
    lineReadBytesMax: limits.lineWrittenBytesMax - 1,
    commitBytesMax: limits.lineWrittenBytesMax,
    segmentBytesMax: limits.commitBytesMax - 1,
    txRecordsMax: limits.commitRecordsMax + 1,
    metaAheadRecordsMax: limits.commitRecordsMax - 1,
    seqWarnRatio: 1,
    seqMax: 50_000,
  }
  for (const [name, value] of Object.entries(misfits)) {
    t.throws(() => assertLimits({ ...limits, [name]: value }), { name: 'InvariantError' }, name)
  }
  t.ok(Object.isFrozen(limits))
})

t.test('errors - carry code, cause, retry class, exit code and hint', async t => {
  const cause = new RangeError('no')
  const error = new KimError('store_held', 'held by 7', { cause })
  t.match(error, { name: 'KimError', code: 'store_held', retry: 'later', exitCode: 75, cause })
  t.ok(error instanceof Error)
  t.equal(new KimError('usage', 'x', { hint: 'try y' }).hint, 'try y')
  t.notOk('cause' in new KimError('usage', 'x'))
  for (const [code, { hint, exitCode }] of Object.entries(errorCodes)) {
    t.match(hint, /^[^\n]{8,80}$/, code)
    t.ok([1, 2, 4, 5, 6, 69, 75, 77].includes(exitCode), code)
  }
})

t.test('invariant - throws for a broken promise of ours only', async t => {
  t.doesNotThrow(() => invariant(1, 'fine'))
  t.throws(() => invariant(0, 'broken'), { name: 'InvariantError', message: 'broken' })
})
