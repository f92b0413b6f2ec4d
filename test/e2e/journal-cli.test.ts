import { spawn } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { LAUNCHERS, type Ran, run as runScript } from '../kit/commands.js'
import { mail } from '../kit/drafts.js'
import { homeOf } from '../kit/home.js'

const bin = LAUNCHERS['kim-producer']
const run = (...args: string[]): Ran => runScript(bin, ['journal', ...args])

function json(ran: Ran): Record<string, unknown> {
  return JSON.parse(ran.out) as Record<string, unknown>
}

/** A store with several sealed segments and no gc yet. */
function makeStore(t: Test, messages = 60): string {
  const store = homeOf(t)
  const journal = openJournal({
    storeDir: store,
    source: 'http://localhost:7474',
    segmentBytes: 8000,
    gc: false,
  })
  for (let id = 1; id <= messages; id++) journal.append([mail('river', id)])
  while (journal.upkeep());
  journal.close()
  return store
}

/** Names and bytes of everything in a store's events. */
function snapshot(store: string): Record<string, string> {
  const events = join(store, 'events')
  const files = readdirSync(events, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return Object.fromEntries(
    files.map(entry => {
      const path = join(entry.parentPath, entry.name)
      return [path.slice(events.length + 1), readFileSync(path, 'latin1')]
    }),
  )
}

t.test('CL-6 verify and stats - a clean store, for people and as JSON', async t => {
  const store = makeStore(t)
  const clean = run('verify', '--store', store)
  t.equal(clean.code, 0, clean.err)
  t.match(clean.out, /^clean: /)
  t.equal(clean.err, '', 'no progress where there is no terminal')
  const verdict = json(run('verify', '--store', store, '--json'))
  t.match(verdict, { exit: 0, findings: {}, verified_from: 1 })
  const stats = json(run('stats', '--events', join(store, 'events'), '--json'))
  t.match(stats, { by_item_type: { message: 60 }, by_persona: { river: 60 }, malformed: 0 })
  t.match(run('stats', '--store', store).out, /60 {2}message/)
})

t.test('verify - says where a store is damaged and exits 6; where records are missing, 5', async t => {
  const store = makeStore(t)
  const first = join(store, 'events', 'seg-00000001.jsonl')
  const bytes = readFileSync(first)
  const damaged = Buffer.from(bytes)
  damaged[bytes.indexOf('body 3')] = 0xff
  writeFileSync(first, damaged)
  const corrupt = run('verify', '--store', store)
  t.equal(corrupt.code, 6)
  t.match(corrupt.out, /^corrupt: .*\n/)
  t.match(
    corrupt.out,
    /ERROR malformed_line × 1 \(a line is not a valid record\)\n +seg-00000001\.jsonl, byte \d+/,
  )
  t.match(json(run('verify', '--store', store, '--json')), {
    exit: 6,
    findings: { malformed_line: { count: 1, weight: 6 } },
  })
})

t.test('store - one that is not there is named, and none is made', async t => {
  const nowhere = join(tmpdir(), 'kim-cli-nowhere')
  for (const command of [
    ['verify'],
    ['stats'],
    ['checkpoint'],
    ['gc'],
    ['repair'],
    ['redact', '--seq', '1', '--reason', 'x'],
    ['export'],
  ]) {
    const ran = run(...command, '--store', nowhere)
    t.equal(ran.code, 4, command.join(' '))
    t.match(ran.out + ran.err, nowhere)
    t.notOk(existsSync(nowhere))
  }
})

t.test(
  'CL-19 checkpoint and gc - a dry run changes nothing and says what the real one then does',
  async t => {
    const store = makeStore(t)
    const before = snapshot(store)
    const dry = json(run('gc', '--store', store, '--dry-run', '--json'))
    t.same(snapshot(store), before)
    t.ok((dry['segments'] as string[]).length > 0, 'there is something to park')
    const dryCheckpoint = json(run('checkpoint', '--store', store, '--dry-run', '--json'))
    t.same(snapshot(store), before)
    const real = json(run('gc', '--store', store, '--json', '--gzip'))
    t.same(real['segments'], dry['segments'])
    t.same(real['checkpoints'], dry['checkpoints'])
    for (const name of real['segments'] as string[])
      t.ok(existsSync(join(store, 'events', 'archive', `${name}.gz`)))
    t.equal(
      json(run('checkpoint', '--store', store, '--json'))['checkpoint_seq'],
      dryCheckpoint['checkpoint_seq'],
    )
    t.equal(run('verify', '--store', store).code, 0)
    t.match(
      json(run('stats', '--store', store, '--json')),
      { by_item_type: { message: 60 } },
      'packed segments are read',
    )
  },
)

t.test('checkpoint - without the beginning of the journal, the reason is named', async t => {
  const store = makeStore(t)
  const events = join(store, 'events')
  rmSync(join(events, 'seg-00000001.jsonl'))
  rmSync(join(events, 'checkpoints'), { recursive: true })
  for (const dry of [[], ['--dry-run']]) {
    const { code, out } = run('checkpoint', '--store', store, ...dry)
    t.equal(code, 1)
    t.match(
      out,
      /^no checkpoint was written, .*: records before the first segment are missing; restore them from a copy, /,
    )
  }
  t.notOk(Object.hasOwn(json(run('checkpoint', '--store', store, '--json')), 'isWhole'))
})

t.test('gc - a segment stays if the archive has another copy, and the headline says so', async t => {
  const store = makeStore(t)
  const [first = ''] = json(run('gc', '--store', store, '--dry-run', '--json'))['segments'] as string[]
  const copies = json(run('gc', '--store', store, '--dry-run', '--json'))['segments'] as string[]
  mkdirSync(join(store, 'events', 'archive'), { recursive: true, mode: 0o700 })
  for (const name of copies) writeFileSync(join(store, 'events', 'archive', name), 'x', { mode: 0o600 })
  run('gc', '--store', store)
  const { out, err } = run('gc', '--store', store)
  t.match(err, new RegExp(`^warning: \\S+/archive/${first} differs from `, 'm'))
  t.match(
    out,
    /^nothing to move: .*, or the copy in archive\/ differs \(a warning above, or archive_differs in the log /,
  )
})

t.test('CL-19 checkpoint - D4: it says what it moves to archive/, in a dry run too', async t => {
  const store = makeStore(t)
  const before = snapshot(store)
  const dry = json(run('checkpoint', '--store', store, '--dry-run', '--json'))
  t.same(snapshot(store), before)
  const moved = dry['moved'] as string[]
  t.ok(moved.length > 0, 'there is something to move')
  t.match(
    run('checkpoint', '--store', store, '--dry-run').out,
    /\nwould move \d+ segments? and \d+ checkpoints? to archive\/\n/,
  )
  const real = run('checkpoint', '--store', store)
  t.match(real.out, /\nmoved \d+ segments? and \d+ checkpoints? to archive\/\n/)
  t.same(
    real.out.match(/^ {2}\S+$/gm)?.map(line => line.trim()),
    moved,
  )
  for (const name of moved) t.ok(existsSync(join(store, 'events', 'archive', name)), name)
})

t.test('CL-19 redact - erases one entity everywhere, and only that', async t => {
  const store = makeStore(t)
  const before = snapshot(store)
  const dry = json(
    run(
      'redact',
      '--store',
      store,
      '--entity',
      'message',
      'river/7',
      '--reason',
      'a key',
      '--dry-run',
      '--json',
    ),
  )
  t.same(snapshot(store), before)
  t.match(dry, { dry_run: true, records: 1 })
  const real = run('redact', '--store', store, '--entity', 'message', 'river/7', '--reason', 'a key')
  t.equal(real.code, 0, real.err)
  t.match(real.out, /^erased the content of message river\/7 in 1 record/)
  const after = Object.values(snapshot(store)).join('\n')
  t.notMatch(after, /body 7"/)
  t.match(after, /body 8"/)
  const verdict = json(run('verify', '--store', store, '--json'))
  t.match(verdict, { exit: 0, findings: { redacted: { weight: 0 } } })
  for (const args of [
    ['--seq', '3'],
    ['--reason', 'x'],
    ['--entity', 'message', '--reason', 'x'],
    ['message', 'river/1', '--reason', 'x'],
  ]) {
    t.equal(run('redact', '--store', store, ...args).code, 2, args.join(' '))
  }
})

t.test('repair - makes a damaged store one that is appended to and verifies', async t => {
  const store = makeStore(t)
  const newest =
    readdirSync(join(store, 'events'))
      .filter(name => name.startsWith('seg-'))
      .sort()
      .at(-1) ?? ''
  appendFileSync(join(store, 'events', newest), 'garbage in the middle\n{"torn":')
  t.equal(run('verify', '--store', store).code, 6)
  const ran = run('repair', '--store', store)
  t.equal(ran.code, 0, ran.err)
  t.equal(run('verify', '--store', store).code, 0)
  const journal = openJournal({ storeDir: store, source: 'http://localhost:7474' })
  journal.append([mail('river', 61)])
  journal.close()
  t.equal(run('verify', '--store', store).code, 0)
})

t.test(
  'export - prints stored lines byte for byte, whole or in part, and stops quietly for a reader that has had enough',
  async t => {
    const store = makeStore(t)
    const segments = readdirSync(join(store, 'events'))
      .filter(name => name.startsWith('seg-'))
      .sort()
    const stored = segments.map(name => readFileSync(join(store, 'events', name), 'utf8')).join('')
    t.equal(run('export', '--store', store).out, stored)
    const slice = run('export', '--store', store, '--from-seq', '5', '--to-seq', '7')
      .out.trimEnd()
      .split('\n')
    t.same(
      slice.map(line => (JSON.parse(line) as { seq: number }).seq),
      [5, 6, 7],
    )
    const mine = run('export', '--store', store, '--persona', 'river').out.trimEnd().split('\n')
    t.equal(mine.length, 60)
    const child = spawn('sh', [
      '-c',
      `"${process.execPath}" "${bin}" journal export --store "${store}" | head -n 1`,
    ])
    const code = await new Promise(resolve => child.on('close', resolve))
    t.equal(code, 0)
  },
)

t.test('lock - a held store is refused with 75, naming holder, start and store', async t => {
  const store = makeStore(t)
  const holder = openJournal({ storeDir: store })
  t.teardown(() => holder.close())
  for (const command of [['checkpoint'], ['gc'], ['repair'], ['redact', '--seq', '5', '--reason', 'x']]) {
    const ran = run(...command, '--store', store)
    t.equal(ran.code, 75, command.join(' '))
    t.match(ran.err, String(process.pid))
    t.match(ran.err, store)
    t.match(ran.err, /\d{4}-\d\d-\d\dT/, 'since when')
  }
  t.equal(run('verify', '--store', store).code, 0, 'reading needs no lock')
})

t.test('modes - files are 0600 and directories 0700 at every level', async t => {
  const store = makeStore(t)
  run('checkpoint', '--store', store)
  for (const entry of readdirSync(store, { recursive: true, withFileTypes: true })) {
    const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777
    t.equal(mode, entry.isDirectory() ? 0o700 : 0o600, entry.name)
  }
})
