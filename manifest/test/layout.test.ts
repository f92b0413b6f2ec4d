import {
  archivedSegmentName,
  blobPath,
  checkpointName,
  clientState,
  cursorKey,
  defaultStateHome,
  defaultStore,
  eventsPaths,
  isMisnamedSegment,
  parseArchivedSegmentName,
  parseCheckpointName,
  parseSegmentName,
  parseTempName,
  segmentName,
  storePaths,
  tempName,
} from '@kim/manifest'
import t from 'tap'

t.test('segments - eight digits, from 1 to 99 999 999, JF-3 JF-45', async t => {
  t.equal(segmentName(1), 'seg-00000001.jsonl')
  t.equal(segmentName(99_999_999), 'seg-99999999.jsonl')
  t.throws(() => segmentName(100_000_000), { code: 'seq_exhausted' })
  for (const bad of [0, -1, 1.5, Number.NaN, 2 ** 53])
    t.throws(() => segmentName(bad), { code: 'name_invalid' })
  for (const seq of [1, 18_343, 99_999_999]) t.equal(parseSegmentName(segmentName(seq)), seq)
})

t.test(
  'segments - any other name is refused and, if it looks like one, misnamed, JF-3 JF-4 CO-17',
  async t => {
    const misnamed = [
      'seg-1.jsonl',
      'seg-0000001.jsonl',
      'seg-000000001.jsonl',
      'seg-0000000001.jsonl',
      'seg-00000000.jsonl',
      'seg-0000000a.jsonl',
      'seg-00000001.jsonl.gz',
      'seg-00000001.jsonl~',
      'seg-00000001.jsonl\n',
      'seg-١٢٣٤٥٦٧٨.jsonl',
      'seg-.jsonl',
    ]
    for (const name of misnamed) {
      t.equal(parseSegmentName(name), undefined, JSON.stringify(name))
      t.ok(isMisnamedSegment(name), JSON.stringify(name))
    }
    for (const name of [
      'SEG-00000001.jsonl',
      'meta.json',
      'checkpoints',
      '.seg-00000001.jsonl.tmp',
      'seg-00000001.json',
    ]) {
      t.equal(parseSegmentName(name), undefined)
      t.notOk(isMisnamedSegment(name), name)
    }
    t.notOk(isMisnamedSegment('seg-00000001.jsonl'))
  },
)

t.test('archive - segments plain or gzipped, JF-3', async t => {
  t.same(parseArchivedSegmentName('seg-00000007.jsonl'), { first: 7, gzipped: false })
  t.same(parseArchivedSegmentName('seg-00000007.jsonl.gz'), { first: 7, gzipped: true })
  t.equal(archivedSegmentName({ first: 7, gzipped: true }), 'seg-00000007.jsonl.gz')
  t.equal(archivedSegmentName({ first: 7, gzipped: false }), 'seg-00000007.jsonl')
  t.equal(parseArchivedSegmentName('seg-00000000.jsonl.gz'), undefined)
  t.equal(parseArchivedSegmentName('seg-00000007.jsonl.xz'), undefined)
})

t.test('checkpoints - eight digits, JF-3', async t => {
  t.equal(checkpointName(18_342), 'ckpt-00018342.json')
  t.equal(parseCheckpointName('ckpt-00018342.json'), 18_342)
  for (const name of [
    'ckpt-18342.json',
    'ckpt-00000000.json',
    'ckpt-00018342.json.tmp',
    'ckpt-00018342.jsonl',
  ]) {
    t.equal(parseCheckpointName(name), undefined, name)
  }
})

t.test('temps - are no name that a reader takes, JF-8', async t => {
  for (const name of ['seg-00000001.jsonl', 'ckpt-00000001.json', 'meta.json']) {
    const temp = tempName(name)
    t.equal(temp, `.${name}.tmp`)
    t.equal(parseTempName(temp), name)
    t.equal(parseSegmentName(temp), undefined)
    t.equal(parseCheckpointName(temp), undefined)
    t.notOk(isMisnamedSegment(temp))
  }
  t.equal(parseTempName('meta.json'), undefined)
})

t.test('blobs - only a digest becomes a path, JF-54', async t => {
  const sha256 = `9f${'0a'.repeat(31)}`
  t.equal(blobPath(sha256), `9f/${sha256}`)
  for (const bad of ['', '../../etc/passwd', sha256.toUpperCase(), `${sha256}0`, `${sha256}\n`]) {
    t.throws(() => blobPath(bad), { code: 'name_invalid' }, JSON.stringify(bad))
  }
})

t.test('store - where everything stands', async t => {
  t.same(storePaths('/s'), {
    root: '/s',
    events: '/s/events',
    meta: '/s/events/meta.json',
    checkpoints: '/s/events/checkpoints',
    archive: '/s/events/archive',
    blobs: '/s/events/blobs',
    quarantine: '/s/events/quarantine',
    run: '/s/run',
    lock: '/s/run/lock',
    controlSocket: '/s/run/control.sock',
    controlPath: '/s/run/control.path',
    health: '/s/run/health.json',
    metrics: '/s/run/metrics.prom',
  })
  t.equal(eventsPaths('/copied').meta, '/copied/meta.json')
})

t.test('state home - follows XDG_STATE_HOME if it is absolute', async t => {
  t.equal(defaultStateHome({ XDG_STATE_HOME: '/x' }, '/h'), '/x')
  t.equal(defaultStateHome({ XDG_STATE_HOME: 'x' }, '/h'), '/h/.local/state')
  t.equal(defaultStateHome({ XDG_STATE_HOME: '' }, '/h'), '/h/.local/state')
  t.equal(defaultStore({}, '/h'), '/h/.local/state/kim/stores/default')
  t.equal(clientState({}, '/h', 'kim-tail'), '/h/.local/state/kim/clients/kim-tail')
  for (const bad of ['', '..', 'a/b', '.hidden', 'a\u0000b']) {
    t.throws(() => clientState({}, '/h', bad), { code: 'name_invalid' }, JSON.stringify(bad))
  }
  t.equal(cursorKey('ab'), 'kim.observer.cursor.ab')
})
