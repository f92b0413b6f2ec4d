import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { tarEnd } from '@kim/replay/internal'
import t from 'tap'
import { bin, replay, segmentsOf, writeStore } from './replay-store.js'

const scratch = t.testdir()
const events = writeStore(join(scratch, 'store'), 60)
const out = (name: string): string => join(scratch, name)
const left = (directory: string): string[] => readdirSync(directory).filter(name => name.endsWith('.tmp'))

const whole = out('whole.tgz')
t.equal(replay(['bundle', '--out', whole, '--events', events]).code, 0)
const tar = gunzipSync(readFileSync(whole))

function unpackedAs(name: string): string {
  mkdirSync(out(name))
  spawnSync('tar', ['-xzf', whole, '-C', out(name)])
  return out(name)
}

t.test('CL-62 --out - what is no file is refused before anything is read, and left as it is', async t => {
  const here = out('places')
  mkdirSync(join(here, 'directory'), { recursive: true })
  symlinkSync('nowhere', join(here, 'dangling'))
  const noPipe = spawnSync('mkfifo', [join(here, 'pipe')]).status !== 0
  const wrong: readonly (readonly [name: string, why: RegExp])[] = [
    ['directory', /is a directory/],
    ['dangling', /is a link to a missing file/],
    ['none/x', /there is no directory .*none/],
    ...(noPipe ? [] : [['pipe', /is a pipe/] as const]),
  ]
  for (const [name, why] of wrong) {
    for (const args of [['timeline'], ['bundle'], ['bundle', '--dry-run']]) {
      const ran = replay([...args, '--out', join(here, name), '--events', events])
      t.equal(ran.code, 2, `${args.join(' ')} ${name}`)
      t.match(ran.err, why)
    }
  }
  for (const name of ['', '-']) {
    const { status, stderr } = spawnSync(
      process.execPath,
      [bin, 'bundle', '--out', name, '--events', events],
      {
        cwd: here,
        encoding: 'utf8',
      },
    )
    t.equal(status, 2, `"${name}"`)
    t.match(stderr, name === '' ? /is empty/ : /cannot be stdout/)
  }
  t.ok(lstatSync(join(here, 'dangling')).isSymbolicLink())
  t.same(readdirSync(here).sort(), ['dangling', 'directory', ...(noPipe ? [] : ['pipe'])])
  t.same(left(scratch), [])
})

t.test('CL-62 --out - a file that stdout or stderr goes to is refused, and keeps what it holds', async t => {
  const file = out('printed.html')
  for (const [stdio, name] of [
    ['stdout', file],
    ['stderr', file],
    ...(existsSync('/dev/stdout') ? [['stdout', '/dev/stdout']] : []),
  ] as const) {
    writeFileSync(file, 'what stood here\n')
    const fd = openSync(file, 'a')
    const { status } = spawnSync(
      process.execPath,
      [bin, 'timeline', '--out', String(name), '--events', events],
      {
        stdio: ['ignore', stdio === 'stdout' ? fd : 'ignore', stdio === 'stderr' ? fd : 'ignore'],
      },
    )
    closeSync(fd)
    t.equal(status, 2, `${stdio} ${name}`)
    t.match(readFileSync(file, 'utf8'), /^what stood here\n/)
    t.notMatch(readFileSync(file, 'utf8'), /<html/)
  }
})

t.test('CL-62 --out - a file that is replaced keeps its mode, and the link that leads to it', async t => {
  const [file, link] = [out('mine.tgz'), out('link.tgz')]
  writeFileSync(file, 'mine')
  chmodSync(file, 0o644)
  symlinkSync('mine.tgz', link)
  t.equal(replay(['bundle', '--out', link, '--events', events]).code, 0)
  t.ok(lstatSync(link).isSymbolicLink())
  t.same(readFileSync(file), readFileSync(whole))
  t.equal(statSync(file).mode & 0o777, 0o644)
})

t.test('CL-62 --out - a terminal that closes leaves no half file', async t => {
  const many = out('many')
  mkdirSync(many)
  const line = (seq: number): string =>
    `${JSON.stringify({ action: 'create', agent: 'river', item_id: `river/${seq}`, item_type: 'message', payload: { x: 'y'.repeat(300) }, seq, v: 2, writer: 'w_1-aa' })}\n`
  writeFileSync(
    join(many, 'seg-00000001.jsonl'),
    Array.from({ length: 60_000 }, (_, i) => line(i + 1)).join(''),
  )
  const child = spawn(process.execPath, [
    bin,
    'bundle',
    '--redact',
    'none',
    '--out',
    out('hung.tgz'),
    '--events',
    many,
  ])
  const exited = once(child, 'exit')
  while (left(scratch).length === 0 && child.exitCode === null)
    await new Promise(resolve => setTimeout(resolve, 5))
  child.kill('SIGHUP')
  t.same(await exited, [129, null])
  t.same(left(scratch), [])
  t.notOk(readdirSync(scratch).includes('hung.tgz'))
})

/** A tar header of the whole bundle, changed and summed up anew. */
function changed(at: number, text: string, header: Buffer): Buffer {
  const block = Buffer.from(header)
  block.write(text, at, 'latin1')
  block.fill(0x20, 148, 156)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return block
}

const judged = (
  bytes: Buffer,
): { exit: number; broken: string | null; wrong: { path: string; why: string }[] } => {
  writeFileSync(out('judged.tgz'), gzipSync(bytes))
  return JSON.parse(replay(['verify', '--json', out('judged.tgz')]).out)
}

/** Where each file of the tar begins, and the bytes that it takes. */
const entries: { readonly at: number; readonly size: number; readonly path: string }[] = []
for (let at = 0; tar[at] !== 0; ) {
  const length = Number.parseInt(tar.toString('latin1', at + 124, at + 135), 8)
  const size = 512 + Math.ceil(length / 512) * 512
  entries.push({ at, size, path: tar.toString('latin1', at, at + 100).replace(/\0+$/, '') })
  at += size
}

t.test('CL-48 verify - a file that would be unpacked elsewhere, or twice, or behind the end', async t => {
  const [, first] = entries
  if (first === undefined) throw new RangeError('a bundle without a segment')
  const header = tar.subarray(first.at, first.at + 512)
  t.match(judged(tar), { exit: 0, wrong: [] })
  const prefixed = Buffer.from(tar)
  changed(345, '../../etc', header).copy(prefixed, first.at)
  t.match(judged(prefixed), { exit: 6, broken: /in two fields/ })
  const empty = changed(124, '00000000000', header)
  const doubled = Buffer.concat([tar.subarray(0, first.at), empty, tar.subarray(first.at)])
  const twice = judged(doubled)
  t.equal(twice.exit, 6)
  t.ok(twice.wrong.some(({ path, why }) => path === first.path && why === 'twice'))
  const behind = Buffer.concat([tar, tar.subarray(first.at, first.at + first.size), tarEnd])
  t.match(judged(behind), { exit: 6, broken: /has data after its end/ })
  t.match(judged(Buffer.concat([tar, tarEnd])), { exit: 0 }, 'zeros may follow')
})

t.test(
  'CL-48 verify - what is no bundle at all is reported as that, not as one without its manifest',
  async t => {
    const lines = readFileSync(whole)
    for (const [name, bytes, why] of [
      ['plain', Buffer.from('a picture, say'), /ERROR it cannot be unpacked/],
      ['behind', Buffer.concat([lines, Buffer.from('junk')]), /ERROR it cannot be unpacked/],
      ['other', gzipSync('no archive'.repeat(100)), /ERROR this is not a ustar archive/],
      ['none', gzipSync(tarEnd), /ERROR bundle.json is missing or cannot be read/],
    ] as const) {
      writeFileSync(out(`${name}.tgz`), bytes)
      const ran = replay(['verify', out(`${name}.tgz`)])
      t.equal(ran.code, 6, name)
      t.match(ran.out, why, name)
    }
  },
)

t.test('D8 CL-48 verify - another tar archive is not called corrupt', async t => {
  writeFileSync(out('bundle.tar'), tar)
  t.equal(spawnSync('tar', ['-czf', out('events.tgz'), '-C', join(scratch, 'store'), 'events']).status, 0)
  for (const name of ['bundle.tar', 'events.tgz'])
    t.match(
      replay(['verify', out(name)]),
      { code: 4, err: /is not a bundle, .*\n {2}unpack it, then: / },
      name,
    )
})

t.test('CL-48 verify - a manifest that says of its records what is not so', async t => {
  for (const [i, change] of [
    { records: 5 },
    { range: { from_seq: 1, to_seq: 900, from_ts: null, to_ts: null } },
    { range: { from_seq: 2, to_seq: 182, from_ts: null, to_ts: null } },
    { files: [{ path: '../../x', bytes: 0, sha256: '0'.repeat(64) }] },
  ].entries()) {
    const directory = unpackedAs(`claims-${i}`)
    const file = join(directory, 'bundle.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as { files: unknown[] }
    const files = [...manifest.files, ...('files' in change ? (change.files ?? []) : [])]
    writeFileSync(file, JSON.stringify({ ...manifest, ...change, files }))
    const ran = replay(['verify', directory])
    t.equal(ran.code, 6, JSON.stringify(change))
    t.match(ran.out, i === 3 ? /ERROR \.\.\/\.\.\/x: misplaced/ : /ERROR bundle\.json: disagrees: it states /)
  }
})

t.test('CL-48 verify - everything in the directory of an unpacked bundle is looked at', async t => {
  const directory = unpackedAs('more')
  mkdirSync(join(directory, 'other', 'deep'), { recursive: true })
  writeFileSync(join(directory, 'evil.sh'), 'x')
  writeFileSync(join(directory, 'other', 'deep', 'x'), 'x')
  const [segment = ''] = segmentsOf(join(directory, 'events'))
  symlinkSync(segment, join(directory, 'events', 'link'))
  const verdict = JSON.parse(replay(['verify', '--json', directory]).out) as { wrong: object[] }
  t.match(verdict, { exit: 6 })
  t.same(
    verdict.wrong,
    ['events/link', 'evil.sh', 'other'].map(path => ({ path, why: 'unlisted' })),
  )
})

t.test('CL-47 bundle - says which numbers the journal has no record of', async t => {
  const holed = out('holed')
  spawnSync('cp', ['-r', events, holed])
  const names = segmentsOf(holed)
  spawnSync('rm', [join(holed, names[0] ?? '')])
  const ran = replay(['bundle', '--json', '--out', out('holed.tgz'), '--events', holed])
  t.equal(ran.code, 0)
  t.match(ran.err, /^kim-replay: missing in the journal: seq \d+ to \d+\n$/)
  t.equal((JSON.parse(ran.out) as { holes: object[] }).holes.length, 1)
})
