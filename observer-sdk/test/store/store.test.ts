import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { blobPath, checkpointName, SegmentReader, segmentName, sha256Hex } from '@kim/manifest'
import {
  checkBlob,
  chunkBytes,
  listStore,
  openCheckpoint,
  openRegularFile,
  openSegment,
  readBlob,
} from '@kim/observer-sdk/internal'
import t from 'tap'

const long = Buffer.from(
  `${'x'.repeat(chunkBytes - 10)}\n${'y'.repeat(50)}\n${'z'.repeat(chunkBytes * 2)}\nrest`,
)

const listed = (events: string) => {
  const listing = listStore(events)
  if (!listing.ok) throw new Error(listing.code)
  return listing.value
}

const opened = <T>(outcome: { ok: true; value: T } | { ok: false; code: string }): T => {
  if (!outcome.ok) throw new Error(outcome.code)
  return outcome.value
}

t.test(
  'listing - live wins over archived, each list ascends, strangers are left out (JF-7, OB-5)',
  async t => {
    const events = t.testdir({
      'meta.json': '{}',
      [segmentName(11)]: 'live 11',
      [segmentName(7)]: 'live 7',
      'seg-7.jsonl': '',
      'seg-00000000.jsonl': '',
      'seg-00000020.jsonl.gz': '',
      'seg-notes.txt': '',
      '.tmp-seg-00000030.jsonl': '',
      archive: {
        [segmentName(1)]: 'one',
        [`${segmentName(4)}.gz`]: gzipSync('four'),
        [segmentName(7)]: 'archived 7',
        [checkpointName(3)]: '{}',
        [checkpointName(6)]: '{}',
      },
      checkpoints: { [checkpointName(10)]: '{}', [checkpointName(6)]: '{}', '.tmp-ckpt-00000012.json': '' },
    })
    const listing = listed(events)
    t.strictSame(
      listing.segments.map(s => [s.number, s.name, s.place]),
      [
        [1, segmentName(1), 'archive'],
        [4, segmentName(4), 'archive'],
        [7, segmentName(7), 'live'],
        [11, segmentName(11), 'live'],
      ],
    )
    t.strictSame(
      listing.checkpoints.map(c => [c.headSeq, c.place]),
      [
        [3, 'archive'],
        [6, 'live'],
        [10, 'live'],
      ],
    )
    t.strictSame(listing.misnamed, ['seg-00000000.jsonl', 'seg-00000020.jsonl.gz', 'seg-7.jsonl'])
    t.strictSame(listing.failures, [])
  },
)

t.test('listing - an absent directory is an answer, a file in its place another', async t => {
  const dir = t.testdir({ file: '' })
  t.match(listStore(join(dir, 'none')), { ok: false, reason: 'absent', code: 'ENOENT' })
  t.match(listStore(join(dir, 'file')), { ok: false, reason: 'unreadable', code: 'ENOTDIR' })
})

t.test('listing - a link or a directory under the name of a segment is none, and is named', async t => {
  const names = { plain: segmentName(1), linked: segmentName(2), folder: segmentName(3) }
  const events = t.testdir({ [names.plain]: '', [names.folder]: {}, archive: { [names.folder]: '' } })
  symlinkSync(names.plain, join(events, names.linked))
  const listing = listed(events)
  t.strictSame(
    listing.segments.map(({ number, place }) => [number, place]),
    [
      [1, 'live'],
      [3, 'archive'],
    ],
    'what stands in the archive is not hidden by it (F6)',
  )
  t.match(listing.failures, [
    { path: join(events, names.linked), code: 'symlink' },
    { path: join(events, names.folder), code: 'not_regular' },
  ])
})

t.test('listing - a subdirectory that is a file is named, and the rest is still listed', async t => {
  const events = t.testdir({ archive: 'not a directory', [segmentName(1)]: '' })
  const listing = listed(events)
  t.equal(listing.segments.length, 1)
  t.match(listing.failures, [{ path: join(events, 'archive'), code: 'ENOTDIR' }])
})

t.test('open - what is no regular file is unreadable and never blocks', async t => {
  const dir = t.testdir({ real: 'x', folder: {} })
  execFileSync('mkfifo', [join(dir, 'fifo')])
  symlinkSync(join(dir, 'real'), join(dir, 'link'))
  t.match(openRegularFile(join(dir, 'fifo')), { ok: false, reason: 'unreadable', code: 'not_regular' })
  t.match(openRegularFile(join(dir, 'folder')), { ok: false, reason: 'unreadable', code: 'not_regular' })
  t.match(openRegularFile(join(dir, 'link')), { ok: false, reason: 'unreadable', code: 'symlink' })
  t.match(openRegularFile(join(dir, 'none')), { ok: false, reason: 'absent', code: 'ENOENT' })
})

t.test('open - a segment that gc moves after it was listed is found in the archive, OB-7', async t => {
  const events = t.testdir({ [segmentName(1)]: 'one\n', archive: {} })
  t.equal(listed(events).segments[0]?.place, 'live')
  renameSync(join(events, segmentName(1)), join(events, 'archive', segmentName(1)))
  const plain = opened(openSegment(events, 1))
  t.equal(plain.candidate.place, 'archive')
  plain.close()

  writeFileSync(join(events, 'archive', `${segmentName(1)}.gz`), gzipSync('one\n'))
  rmSync(join(events, 'archive', segmentName(1)))
  const compressed = opened(openSegment(events, 1))
  t.equal(compressed.candidate.gzip, true)
  t.equal(compressed.read(0, 3).toString(), 'one')
  compressed.close()
  t.match(openSegment(events, 2), { ok: false, reason: 'absent' })
})

t.test(
  'open - an unreadable live segment does not hide its archived copy, and is reported (F6, F7)',
  async t => {
    const events = t.testdir({ [segmentName(1)]: {}, archive: { [segmentName(1)]: 'one\n' } })
    const copy = opened(openSegment(events, 1))
    t.equal(copy.read(0, 3).toString(), 'one')
    t.match(copy.passedOver, { reason: 'unreadable', code: 'not_regular' })
    copy.close()
    const listed = listStore(events)
    t.match(listed, {
      ok: true,
      value: { segments: [{ number: 1, place: 'archive' }], failures: [{ code: 'not_regular' }] },
    })
    rmSync(join(events, 'archive', segmentName(1)))
    t.match(openSegment(events, 1), { ok: false, reason: 'unreadable', code: 'not_regular' })
  },
)

t.test('open - a checkpoint is found live, then archived', async t => {
  const events = t.testdir({
    checkpoints: { [checkpointName(5)]: 'live' },
    archive: { [checkpointName(5)]: 'a' },
  })
  const live = opened(openCheckpoint(events, 5))
  t.equal(live.candidate.place, 'live')
  live.close()
  rmSync(join(events, 'checkpoints', checkpointName(5)))
  const archived = opened(openCheckpoint(events, 5))
  t.equal(archived.candidate.place, 'archive')
  archived.close()
})

t.test('content - plain and compressed give the same bytes, lines and ranges', async t => {
  const events = t.testdir({
    [segmentName(1)]: long,
    archive: { [`${segmentName(2)}.gz`]: gzipSync(long) },
  })
  for (const number of [1, 2]) {
    const content = opened(openSegment(events, number))
    t.equal(content.bytes, long.length)
    t.ok(Buffer.concat([...content.chunks()]).equals(long), 'chunks')
    t.ok(Buffer.concat([...content.chunks({ from: 5 })]).equals(long.subarray(5)))
    t.ok(content.read(long.length - 2, 100).equals(long.subarray(-2)), 'a range past the end is cut')
    t.ok(content.read(chunkBytes - 12, 6).equals(long.subarray(chunkBytes - 12, chunkBytes - 6)))

    const streamed: Buffer[] = []
    for await (const chunk of content.stream()) streamed.push(chunk)
    t.ok(Buffer.concat(streamed).equals(long), 'stream')
    t.ok(Math.max(...streamed.map(chunk => chunk.length)) <= chunkBytes, 'in bounded chunks')

    const offsets: number[] = []
    const reader = new SegmentReader({ malformed: ({ offset }) => void offsets.push(offset) })
    for (const chunk of content.chunks()) reader.push(chunk)
    t.strictSame(offsets, [0, chunkBytes - 9, chunkBytes + 42])
    t.equal(Buffer.from(reader.unterminated.bytes ?? []).toString(), 'rest')
    t.equal(content.failure, undefined)
    content.close()
  }
})

t.test('content - bytes appended after the open are not part of it', async t => {
  const events = t.testdir({ [segmentName(1)]: 'one\n' })
  const content = opened(openSegment(events, 1))
  writeFileSync(join(events, segmentName(1)), 'two\n', { flag: 'a' })
  t.equal(Buffer.concat([...content.chunks()]).toString(), 'one\n')
  content.close()
})

t.test('content - a file that shrinks under the reader just ends', async t => {
  const events = t.testdir({ [segmentName(1)]: 'one\ntwo\n' })
  const content = opened(openSegment(events, 1))
  truncateSync(join(events, segmentName(1)), 4)
  t.equal(Buffer.concat([...content.chunks()]).toString(), 'one\n')
  t.equal(content.failure, undefined)
  content.close()
})

t.test('content - a damaged gzip file ends with a failure, not with a throw', async t => {
  const whole = gzipSync(long)
  const events = t.testdir({
    archive: {
      [`${segmentName(1)}.gz`]: whole.subarray(0, whole.length - 20),
      [`${segmentName(2)}.gz`]: 'never was gzip',
      [`${segmentName(3)}.gz`]: '',
    },
  })
  for (const number of [1, 2, 3]) {
    const streaming = opened(openSegment(events, number))
    for await (const chunk of streaming.stream()) t.ok(chunk.length <= chunkBytes)
    t.match(streaming.failure, { ok: false, reason: 'unreadable', code: 'bad_gzip' }, `stream ${number}`)
    streaming.close()

    const whole = opened(openSegment(events, number))
    t.strictSame([...whole.chunks()], [])
    t.match(whole.failure, { ok: false, reason: 'unreadable', code: 'bad_gzip' }, `chunks ${number}`)
    whole.close()
  }
})

t.test('blob - read only if it is exactly what the reference says', async t => {
  const events = t.testdir({})
  const put = (sha256: string, bytes: string): void => {
    mkdirSync(join(events, 'blobs', sha256.slice(0, 2)), { recursive: true })
    writeFileSync(join(events, 'blobs', blobPath(sha256)), bytes)
  }
  const body = '{"a":1}'
  const ref = { sha256: sha256Hex(body), bytes: body.length }
  put(ref.sha256, body)
  const read = readBlob(events, ref)
  t.equal(read.ok && read.value.toString(), body)
  t.equal(checkBlob(events, ref), undefined)

  for (const judge of [readBlob, checkBlob]) {
    t.match(judge(events, { ...ref, bytes: 6 }), { reason: 'mismatch', code: 'wrong_length' })
    t.match(judge(events, { sha256: sha256Hex('none'), bytes: 4 }), { reason: 'absent' })
    const other = { sha256: sha256Hex('other'), bytes: body.length }
    put(other.sha256, body)
    t.match(judge(events, other), { reason: 'mismatch', code: 'wrong_hash' })
  }
})
