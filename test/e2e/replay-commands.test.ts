import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isProcessAlive } from '@kim/cli-kit'
import { openJournal } from '@kim/producer/internal'
import { pathForms } from '@kim/replay/internal'
import t from 'tap'
import { bin, replay, SECRET, segmentsOf, writeStore } from './replay-store.js'

const scratch = t.testdir()
const events = writeStore(join(scratch, 'store'), 60)
const out = (name: string): string => join(scratch, name)
const lines = (text: string): string[] => text.split('\n').filter(line => line !== '')

t.test('CL-35 commands - print the same bytes for the same input', async t => {
  const asks: readonly (readonly string[])[] = [
    ['at', '--seq', '90', '-o', 'json'],
    ['at', '--time', 'now'],
    ['at', '--event-id', 'river:new:40', '-p', 'river', '-o', 'json'],
    ['diff', '--from', '20', '--to', 'end', '-o', 'json'],
    ['find', '--all', '--until', 'persona.river.unread > 0', '-o', 'json'],
    ['explain', 'river:new:40', '--json'],
    ['play', '--speed', 'max'],
  ]
  for (const args of asks) {
    const first = replay([...args, '--events', events])
    t.equal(first.code, 0, `${args.join(' ')}: ${first.err}`)
    t.ok(first.out.length > 20)
    t.equal(replay([...args, '--events', events]).out, first.out)
  }
  const files: readonly (readonly string[])[] = [
    ...['html', 'md', 'json', 'csv'].map(form => ['timeline', '-o', form, '--out']),
    ...['none', 'bodies', 'all'].map(mode => ['bundle', '--redact', mode, '--out']),
  ]
  for (const args of files) {
    for (const name of ['one', 'two']) t.equal(replay([...args, out(name), '--events', events]).code, 0)
    t.same(readFileSync(out('one')), readFileSync(out('two')), args.join(' '))
  }
})

t.test('CL-47 bundle - is dated by SOURCE_DATE_EPOCH, and a plain tar opens it', async t => {
  const file = out('dated.tgz')
  t.equal(
    replay(['bundle', '--out', file, '--events', events], { env: { SOURCE_DATE_EPOCH: '1700000000' } }).code,
    0,
  )
  mkdirSync(out('opened'))
  t.equal(spawnSync('tar', ['-xzf', file, '-C', out('opened')]).status, 0)
  const manifest = JSON.parse(readFileSync(join(out('opened'), 'bundle.json'), 'utf8')) as {
    created: string
    files: { path: string }[]
    redact: string
  }
  t.equal(manifest.created, '2023-11-14T22:13:20.000Z')
  t.equal(manifest.redact, 'bodies')
  t.equal(manifest.files.length, readdirSync(join(out('opened'), 'events')).length)
  t.equal(replay(['verify', out('opened')]).code, 0)
  t.equal(
    replay(['verify', '--events', join(out('opened'), 'events')]).code,
    0,
    'found by what stands beside it',
  )
  const other = replay(['verify', '--json', file])
  t.match(JSON.parse(other.out), {
    exit: 0,
    wrong: [],
    not_applicable: ['blobs', 'chain', 'checkpoints', 'digest', 'revisions', 'schema'],
  })
})

t.test(
  'CL-48 verify - finds a file that was changed, one that is gone, and one that is not listed',
  async t => {
    const file = out('judged.tgz')
    const opened = out('judged')
    t.equal(replay(['bundle', '--out', file, '--events', events]).code, 0)
    const fresh = (): string => {
      spawnSync('rm', ['-rf', opened])
      mkdirSync(opened)
      spawnSync('tar', ['-xzf', file, '-C', opened])
      return segmentsOf(join(opened, 'events'))[1] as string
    }
    const name = fresh()
    const path = join(opened, 'events', name)
    writeFileSync(path, readFileSync(path, 'utf8').replace('river', 'rover'))
    t.match(JSON.parse(replay(['verify', '--json', opened]).out), {
      exit: 6,
      wrong: [{ path: `events/${name}`, why: 'changed' }],
    })
    fresh()
    spawnSync('rm', [path])
    t.match(JSON.parse(replay(['verify', '--json', opened]).out), {
      exit: 6,
      wrong: [{ why: 'absent' }],
      findings: { seq_hole: { count: 1 } },
    })
    fresh()
    writeFileSync(join(opened, 'events', 'more.txt'), 'x')
    t.match(JSON.parse(replay(['verify', '--json', opened]).out), {
      exit: 6,
      wrong: [{ path: 'events/more.txt', why: 'unlisted' }],
    })
    const bytes = readFileSync(file)
    writeFileSync(out('short.tgz'), bytes.subarray(0, bytes.length / 2))
    t.match(JSON.parse(replay(['verify', '--json', out('short.tgz')]).out), {
      exit: 6,
      broken: /unpacked|ends/,
    })
    writeFileSync(out('no.tgz'), 'no archive')
    t.equal(replay(['verify', out('no.tgz')]).code, 6)
    t.equal(replay(['verify', out('nowhere.tgz')]).code, 4)
  },
)

t.test('CL-51 bundle - holds nothing that people wrote, and no name if that is asked for', async t => {
  for (const mode of ['none', 'bodies', 'all']) {
    const file = out(`${mode}.tgz`)
    t.equal(replay(['bundle', '--redact', mode, '--out', file, '--events', events]).code, 0)
    const text = spawnSync('tar', ['-xzOf', file], { encoding: 'utf8', maxBuffer: 1 << 26 }).stdout
    t.equal(text.includes(SECRET), mode === 'none', `${mode}: bodies`)
    t.equal(text.includes('river'), mode !== 'all', `${mode}: names`)
    t.equal(replay(['verify', file]).code, 0)
  }
})

t.test('CL-47 bundle - takes a range, whole transactions, and says what it would do', async t => {
  const file = out('range.tgz')
  const dry = replay([
    'bundle',
    '--dry-run',
    '--json',
    '--from-seq',
    '50',
    '--to-seq',
    '60',
    '--out',
    file,
    '--events',
    events,
  ])
  t.equal(dry.code, 0)
  const plan = JSON.parse(dry.out) as { range: { from_seq: number; to_seq: number }; dry_run: boolean }
  t.ok(plan.dry_run)
  t.ok(plan.range.from_seq <= 50 && plan.range.to_seq >= 60)
  t.throws(() => readFileSync(file))
  t.equal(replay(['bundle', '--from-seq', '50', '--to-seq', '60', '--out', file, '--events', events]).code, 0)
  t.match(JSON.parse(replay(['verify', '--json', file]).out), { exit: 0, manifest: { range: plan.range } })
  t.equal(replay(['bundle', '--from-seq', '99999', '--out', file, '--events', events]).code, 4)
  t.equal(replay(['bundle', '--from-seq', '9', '--to-seq', '8', '--out', file, '--events', events]).code, 2)
})

t.test('CL-10 output - is refused at or below what is read', async t => {
  for (const command of ['bundle', 'timeline']) {
    const refused = replay([command, '--out', join(events, 'x'), '--events', events])
    t.equal(refused.code, 2)
    t.match(refused.err, /inside the store/)
    t.equal(replay([command, '--events', events]).code, 2, 'and must be named')
  }
})

t.test('CL-46 play - prints stored lines, by persona, by range, by step, and to a command', async t => {
  const all = lines(replay(['play', '--speed', 'max', '--events', events]).out)
  const stored = segmentsOf(events).flatMap(name => lines(readFileSync(join(events, name), 'utf8')))
  t.same(all.slice(-stored.length), stored)
  const some = lines(
    replay([
      'play',
      '--speed',
      'max',
      '--from-seq',
      '10',
      '--to-seq',
      '20',
      '-p',
      'river',
      '--events',
      events,
    ]).out,
  )
  t.ok(some.length > 3 && some.every(line => line.includes('"agent":"river"')))
  t.same(
    lines(replay(['play', '--speed', 'step', '--events', events], { input: '\n\n\n' }).out),
    all.slice(0, 3),
  )
  const told = replay(['play', '--speed', 'max', '--to-seq', '2', '--exec', 'cat', '--events', events])
  t.equal(told.out, '', 'stdout stays empty')
  t.same(lines(told.err), all.slice(0, 2))
  t.match(replay(['play', '--speed', 'max', '--from-seq', '7', '--exec', 'exit 3', '--events', events]), {
    code: 1,
    err: /seq 7: the command exited with 3\n {2}correct the command, then continue with --from-seq 7\n/,
  })
  t.match(replay(['play', '--exec', ' ', '--events', events]), { code: 2, err: /--exec names no command/ })
  t.equal(replay(['play', '--speed', 'fast', '--events', events]).code, 2)
  t.match(replay(['play', '--speed', 'max', '-p', 'rivr', '--events', events]), {
    code: 4,
    err: /did you mean river/,
  })
})

t.test('D5 CL-75 names - a message has the same names for every command', async t => {
  const said = (...args: string[]): unknown => {
    const { code, err, out: text } = replay([...args, '--json', '--events', events])
    t.equal(code, 0, err)
    return JSON.parse(text)
  }
  const explained = said('explain', 'river:new:40') as { steps: { kind: string; seq: number }[] }
  const seq = String(explained.steps.find(({ kind }) => kind === 'appended')?.seq)
  const state = said('at', '--seq', seq)
  const difference = said('diff', '--from', seq, '--to', 'end')
  for (const name of [seq, 'river:new:40', 'river/40']) {
    t.same(said('explain', name), explained, name)
    t.same(said('at', name), state, name)
    t.same(said('diff', '--from', name, '--to', 'end'), difference, name)
  }
  t.match(replay(['at', 'end', '--events', events]).out, /^at seq /)
  t.match(replay(['at', '5', '--time', '1h', '--events', events]), { code: 2, err: /"5" and --time exclude/ })
})

t.test('CL-42 CL-45 errors - say what was meant', async t => {
  const wrong: readonly (readonly [args: readonly string[], code: number, said: RegExp])[] = [
    [['at'], 2, /a point in the journal is missing/],
    [['at', '--seq', '3', '--time', '1h'], 2, /--seq and --time exclude each other/],
    [['at', '--time', 'noon'], 2, /is not a time/],
    [['at', '--time', '1999-01-01'], 4, /no record as old/],
    [['at', '--event-id', 'rivr:new:3'], 4, /did you mean river/],
    [['at', '--event-id', 'river:new:999'], 4, /did you mean river:new:60/],
    [['at', '--event-id', 'what?'], 2, /neither a seq nor an event id/],
    [['at', '--seq', '50', '-p', 'rivver'], 4, /\n {2}did you mean river\? Known personas at that point: /],
    [['at', '--seq', '5', '--json', '-o', 'text'], 2, /exclude each other/],
    [['diff', '--from', '3'], 2, /--to is missing/],
    [['diff', '--from', 'x y', '--to', 'end'], 2, /is not a point in the journal.*"today".* newest record/s],
    [['at', '--time', 'x y'], 2, /is not a time\n.*"today" and "14:30" count from the newest record/],
    [['bundle', '--out', out('x'), '--from-seq', '9999'], 4, /kim-replay stats \(with the same --events or/],
    [['find'], 2, /--until is missing/],
    [['find', '--until', 'persona.river.unread > '], 2, /column 24/],
    [['find', '--until', 'persona.rivr.unread > 1'], 4, /did you mean river/],
    [['find', '--until', 'persona.river.unread > 10000'], 3, /^$/],
    [['find', '--until', 'count.gate > 0'], 3, /^$/],
    [['find', '--until', 'alert.river.unreachable.open'], 3, /^$/],
    [['find', '--until', 'count.messages > 10'], 4, /no entity of type messages; did you mean message\?/],
    [['find', '--until', 'entity.mesage."river/1".exists'], 4, /no entity of type mesage.*\n {2}there are: /],
    [['find', '--until', 'alert.river.unreachabel.open'], 4, /did you mean unreachable/],
    [['find', '--until', 'seq'], 2, /a number alone/],
    [['find', '--until', 'persona.river.unread > "3"'], 2, /column 24: cannot compare a number with a text/],
    [['explain', 'river:new:61'], 4, /did you mean river:new:60/],
    [['explain'], 2, /EVENT is missing/],
    [['timeline', '--out', out('x'), '-o', 'pdf'], 2, /pdf/],
    [
      ['timeline', '--out', out('x'), '-S', '2026-06-10T15:00Z', '-U', '2026-06-10T14:00Z'],
      2,
      /is after --until/,
    ],
    [['play', '--from-seq', '50', '--to-seq', '20'], 2, /--from-seq 50 is above --to-seq 20/],
    [['play', '--speed', 'max', '-p', 'river,nobody'], 4, /knows no persona nobody/],
    [['digest', '--cursor', out('none')], 1, /ENOENT.*\n {2}check the path/],
    [['bundle', '--out', out('x'), '--redact', 'some'], 2, /some/],
  ]
  for (const [args, code, said] of wrong) {
    const ran = replay([...args, '--events', events])
    t.equal(ran.code, code, `${args.join(' ')}: ${ran.err}`)
    t.match(ran.err, said)
  }
  t.match(replay(['verify', events]), { code: 4, err: /did you mean --events / })
  mkdirSync(out('empty'))
  t.match(replay(['verify', out('empty')]), {
    code: 4,
    err: /there is no bundle .*\n {2}the directory is empty; name a \.tgz file, or a directory with bundle\.json/,
  })
  t.match(
    replay(['bundle', '--out', out('x'), '--events', events], { env: { SOURCE_DATE_EPOCH: '999999999999' } }),
    { code: 2, err: /not a number of seconds that an archive can hold/ },
  )
  t.match(replay(['at', '--seq', '1', '--events', out('nowhere')]), { code: 4, err: /there is no journal/ })
})

t.test(
  'CL-42 errors - without a journal, or with an unknown number, the error says what to name',
  async t => {
    const env = { HOME: scratch, XDG_STATE_HOME: out('state'), KIM_STORE: '' }
    for (const command of ['verify', 'stats', 'digest']) {
      const { code, err } = replay([command], { env })
      t.equal(code, 4, command)
      t.match(err, /there is no journal at .*\n {2}name a copied directory with --events DIR, or a store/)
    }
    const beyond = replay(['explain', '99999', '--events', events])
    t.match(beyond, {
      code: 4,
      err: /no record with seq 99999\n {2}see which seqs there are: kim-replay stats/,
    })
  },
)

t.test('CL-43 diff - tells the record that made an item from those that changed it afterwards', async t => {
  const { out: told } = replay(['diff', '--from', '0', '--to', '20', '--events', events])
  t.match(told, /^message river\/2: created by seq \d+, then \d+$/m)
  t.match(told, /^message argus\/2: created by seq \d+$/m)
})

t.test('CL-43 diff - says in words that an item came and went', async t => {
  const storeDir = join(scratch, 'brief')
  const journal = openJournal({ storeDir, source: 'http://localhost:7474' })
  const item = { agent: 'river', item_type: 'assignment', item_id: 'a-1', summary: 'x' }
  journal.append([{ ...item, action: 'create', payload: { schema_version: 1 } }])
  journal.append([{ ...item, action: 'delete' }])
  journal.close()
  const { out: told } = replay(['diff', '--from', '1', '--to', 'end', '--store', storeDir])
  t.match(told, /^assignment a-1: created and removed again by seq 2, 3$/m)
})

t.test('CL-34 at - a seq above the newest is answered for the end, which it says', async t => {
  const whole = replay(['at', '--seq', '1000000000', '--events', events])
  t.equal(whole.code, 0)
  const head = Number(/^at seq (\d+)/.exec(whole.out)?.[1])
  t.match(whole.err, `kim-replay: the newest record is seq ${head}: this is the state at the end\n`)
  t.equal(replay(['at', '--seq', String(head), '--events', events]).err, '')
  t.equal(replay(['at', '--seq', '5', '--events', events]).err, '')
})

t.test('CL-45 find - its help has every path', async t => {
  const { out: help } = replay(['find', '--help'])
  for (const [root, form] of Object.entries(pathForms)) {
    t.match(help, new RegExp(`^ {2}.*\\b${root}\\b`, 'm'))
    const fields = /\{(.*)\}/.exec(form)?.[1]?.split(',') ?? []
    for (const field of fields)
      t.match(help, new RegExp(`^ {2}${root}\\..*[{,]${field}[,}.]`, 'm'), `${root} ${field}`)
  }
})

t.test('CL-43 diff - goes backwards where it is asked to', async t => {
  const back = replay(['diff', '--from', 'end', '--to', '20', '--events', events])
  t.equal(back.code, 0)
  t.match(back.out, /\(backwards\)/)
  t.match(back.out, /message river\/60: removed by seq/)
})

t.test('CL-39 commands - end by the signal that was sent, and leave no half file', async t => {
  // A journal whose second record comes much later than its first.
  const slow = out('slow')
  mkdirSync(slow)
  const record = (seq: number, ts: string): string =>
    `${JSON.stringify({ action: 'create', agent: 'river', item_id: `river/${seq}`, item_type: 'message', payload: {}, seq, ts, v: 2, writer: 'w_1-aa' })}\n`
  writeFileSync(
    join(slow, 'seg-00000001.jsonl'),
    record(1, '2026-01-01T00:00:00Z') + record(2, '2026-01-02T00:00:00Z'),
  )
  const child = spawn(process.execPath, [bin, 'play', '--events', slow])
  await once(child.stdout, 'data')
  child.kill('SIGINT')
  t.same(await once(child, 'exit'), [130, null])
  t.same(
    readdirSync(scratch).filter(name => name.endsWith('.tmp')),
    [],
  )
})

t.test('CL-46 play - a signal that ends it ends the whole command', async t => {
  const child = spawn(process.execPath, [
    ...[bin, 'play', '--speed', 'max', '--events', events],
    ...['--exec', 'sh -c "sleep 300; true" & echo begun $! >&2; wait'],
  ])
  const [chunk] = (await once(child.stderr, 'data')) as [Buffer]
  const inner = Number(/begun (\d+)/.exec(String(chunk))?.[1])
  t.ok(isProcessAlive(inner))
  child.kill('SIGINT')
  t.same(await once(child, 'exit'), [130, null])
  // Who was left by its parent is waited for by the system in its own time.
  while (isProcessAlive(inner)) await new Promise(resolve => setTimeout(resolve, 5))
  t.pass('nothing of it is left')
})

t.test('CL-43 CL-45 diff, find - count the records they read', async t => {
  const diff = replay(['diff', '--from', '5', '--to', '10', '--json', '--events', events])
  t.match(JSON.parse(diff.out), { records: 5, from: { seq: 5 }, to: { seq: 10 } })
  const begin = replay(['find', '--until', 'not (entities > 0)', '--json', '--events', events])
  t.equal(begin.code, 0)
  t.match(JSON.parse(begin.out), { found: [{ from: null, until: null }], times: 1, records: 0 })
  const all = replay(['find', '--all', '--until', 'not (entities > 0)', '--json', '--events', events])
  t.match(JSON.parse(all.out), { found: [{ from: null, until: { seq: 2 } }], times: 1 })
})
