import { spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Journal, openJournal } from '@kim/producer/internal'
import t from 'tap'
import { BIN, environment, Following, line, tail, write } from './kim-tail-process.js'

/** Appends announced messages to river. */
function append(journal: Journal, from: number, to: number): void {
  for (let id = from; id <= to; id++) {
    journal.append([
      {
        agent: 'river',
        action: 'create',
        event: 'new',
        item_id: `river/${id}`,
        item_type: 'message',
        summary: `from argus: ${id}`,
        payload: {
          content: `text ${id}`,
          content_length: 6,
          created: '2026-06-10T14:03:21Z',
          from: 'argus',
          id,
          persona: 'river',
          read: false,
          schema_version: 1,
        },
      },
    ])
  }
}

const open = (storeDir: string, segmentBytes = 10 << 20): Journal =>
  openJournal({ storeDir, source: 'http://localhost:7474', segmentBytes })

const ids = (lines: readonly string[]): number[] =>
  lines.filter(Boolean).map(text => (JSON.parse(text) as { payload: { id: number } }).payload.id)
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)

/** Ends a command that goes on, and says how it ended. */
async function stop(following: Following, signal: NodeJS.Signals = 'SIGTERM'): ReturnType<Ended> {
  following.child.kill(signal)
  return await following.ended
}
type Ended = () => Following['ended']

t.test(
  'kim-tail -f - CL-29 follows across rolls, checkpoints and gc: every record once, in order',
  async t => {
    const root = t.testdir()
    const store = join(root, 'store')
    const journal = open(store, 8192)
    append(journal, 1, 30)
    const following = new Following(root, ['--store', store, '-f', '-n', '5', '-p', 'river'])
    await following.have(5)
    for (let from = 31; from <= 300; from += 30) {
      append(journal, from, from + 29)
      journal.checkpoint()
      await following.have(from + 29 - 25)
    }
    t.same(ids(following.lines), range(26, 300))
    t.ok(readdirSync(join(store, 'events/archive')).length > 0, 'gc moved segments meanwhile')
    const { code, stderr } = await stop(following)
    t.equal(code, 143)
    t.equal(stderr, '')
    journal.close()
  },
)

t.test('kim-tail -f - a torn line and an unfinished run are waited for', async t => {
  const root = t.testdir()
  const store = join(root, 'store')
  const segment = join(store, 'events/seg-00000001.jsonl')
  write(store, { 'events/seg-00000001.jsonl': line(1) })
  const following = new Following(root, ['--store', store, '-f'])
  await following.have(1)
  const torn = line(2)
  appendFileSync(segment, torn.slice(0, 40))
  appendFileSync(segment, torn.slice(40) + line(3, { tx: { id: 'a', i: 1, n: 2 } }))
  await following.have(2)
  appendFileSync(segment, line(4, { tx: { id: 'a', i: 2, n: 2 } }))
  await following.have(4)
  t.equal(following.lines[1], torn.trimEnd(), 'the stored bytes')
  t.same(ids(following.lines), [1, 2, 3, 4])
  t.equal((await stop(following, 'SIGINT')).code, 130)
})

t.test('kim-tail -f - CL-2 CL-27 a store that is not there is said once, and waited for', async t => {
  const root = t.testdir()
  const store = join(root, 'store')
  const following = new Following(root, ['--store', store, '-f'])
  await following.until(({ stderr }) => stderr.includes('\n'))
  t.match(following.stderr, /^kim-tail: there is no journal at .* yet; waiting for it\n$/)
  const journal = open(store)
  append(journal, 1, 2)
  await following.have(2)
  t.same(ids(following.lines), [1, 2])
  append(journal, 3, 3)
  await following.have(3)
  t.match((await stop(following)).stderr, /^[^\n]*\n$/, 'said once')
  journal.close()
})

t.test('kim-tail -f - CL-2 CL-27 an unknown persona is reported once, and waited for', async t => {
  const root = t.testdir()
  const store = join(root, 'store')
  // Written in the middle of an hour that is past, so that its age is the same however long this takes.
  const clock = { wallMs: () => Date.now() - 2.5 * 3_600_000, monoMs: () => performance.now() }
  const journal = openJournal({ storeDir: store, source: 'http://localhost:7474', clock })
  append(journal, 1, 1)
  const following = new Following(root, ['--store', store, '-f', '-p', 'rivre,river,lom', '-o', 'agent'])
  const [ready, waiting, other] = await following.have(4)
  t.match(ready, /^kim ready seq=\d+ unhandled=1 oldest=2h producer=unknown$/)
  t.match(waiting, /^kim waiting reason=no_persona .*did you mean river/)
  t.match(other, /^kim waiting reason=no_persona text="no persona \\"lom\\""$/, 'each of them')
  append(journal, 2, 2)
  await following.until(({ lines }) => lines.some(text => text.includes('river:new:2')))
  const { code, stdout } = await stop(following)
  t.equal(code, 0, 'CL-39 agents see a clean end')
  t.match(stdout, /\nkim end reason=sigterm resume="--after-seq \d+"\n$/)
  journal.close()
})

t.test('kim-tail -f - a store deleted under it is waited for; the new one goes on after a gap', async t => {
  const root = t.testdir()
  const store = join(root, 'store')
  const first = open(store)
  append(first, 1, 3)
  const following = new Following(root, ['--store', store, '-f', '-p', 'river'])
  await following.have(3)
  first.close()
  rmSync(store, { recursive: true })
  await following.until(({ stderr }) =>
    stderr.includes(`the journal at ${store}/events is missing; waiting for it`),
  )
  const second = open(store)
  append(second, 50, 52)
  await following.have(6)
  t.same(ids(following.lines), [1, 2, 3, 50, 51, 52])
  // Said before them, in another pipe.
  await following.until(({ stderr }) =>
    /earlier state; continuing at record 1, so some records may come again/.test(stderr),
  )
  append(second, 53, 53)
  await following.have(7)
  t.equal((await stop(following)).code, 143)
  second.close()
})

t.test('kim-tail -o agent - CL-27 CL-37 a deleted store is reported each time', async t => {
  const root = t.testdir()
  const store = join(root, 'store')
  const following = new Following(root, ['--store', store, '-f', '-o', 'agent'])
  const place = join(store, 'events')
  const waiting = [`there is no journal at ${place} yet`, `the journal at ${place} is missing`].map(
    // Cut if it is long, as the path of a test is.
    text => `kim waiting reason=no_store text=${JSON.stringify(text).slice(0, 100)}`,
  )
  const said = (start = 'kim waiting'): number =>
    following.lines.filter(text => text.startsWith(start)).length
  const waits = (): number => said(waiting[0]) + said(waiting[1])
  await following.until(() => waits() === 1)
  for (const round of [1, 2]) {
    const journal = open(store)
    append(journal, round, round)
    await following.until(({ lines }) => lines.some(text => text.includes(`river:new:${round} `)))
    t.equal(waits(), round)
    journal.close()
    rmSync(store, { recursive: true })
    await following.until(() => waits() === round + 1)
  }
  await stop(following)
  t.equal(waits(), 3)
  t.equal(said(waiting[0]), 1, 'there was none yet, once')
})

t.test('kim-tail --consumer - CL-24 goes on where it was, whatever ended it', async t => {
  const root = t.testdir()
  const store = join(root, 'store')
  const journal = open(store)
  append(journal, 1, 5)
  const args = ['--store', store, '--consumer', 'session', '-p', 'river']
  const begun = tail(root, args)
  t.equal(begun.stdout, '')
  t.match(begun.stderr, /begins at seq \d+; skipping 5 existing entries/)
  append(journal, 6, 8)
  t.same(ids(tail(root, [...args, '-c', '2']).stdout.split('\n')), [6, 7], 'stopped in the middle')
  const following = new Following(root, [...args, '-f'])
  await following.have(1)
  append(journal, 9, 10)
  await following.have(3)
  t.same(ids(following.lines), [8, 9, 10])
  await stop(following)
  append(journal, 11, 11)
  t.same(ids(tail(root, args).stdout.split('\n')), [11])
  const none = tail(root, [...args, '-g', 'nothing'])
  t.equal(none.code, 0)
  append(journal, 12, 12)
  t.same(ids(tail(root, [...args, '-g', 'nothing']).stdout.split('\n')), [], 'CL-22 a filter passes over')
  t.same(ids(tail(root, args).stdout.split('\n')), [])
  journal.close()
})

t.test('kim-tail --consumer - where one without a cursor begins, and when it moves', async t => {
  const root = t.testdir()
  const store = join(root, 'store')
  const journal = open(store)
  append(journal, 1, 3)
  const run = (...args: string[]): ReturnType<typeof tail> =>
    tail(root, ['--store', store, '-p', 'river', ...args])
  const given = (...args: string[]): number[] => ids(run(...args).stdout.split('\n'))
  t.match(run('--consumer', 'a', '--start', 'fail'), { code: 1, stderr: /no cursor/ })
  t.same(given('--consumer', 'b', '--start', 'earliest'), [1, 2, 3])
  t.same(given('--consumer', 'c', '--start', 'earliest', '--commit', 'never'), [1, 2, 3])
  t.same(given('--consumer', 'c', '--start', 'earliest', '--commit', 'never'), [1, 2, 3])
  t.same(given('--consumer', 'd', '--start', 'earliest', '--commit', 'ack'), [1, 2, 3])
  const seq = journal.head.seq - 1
  const ack = (...args: string[]): ReturnType<typeof tail> => tail(root, ['ack', '--store', store, ...args])
  t.match(
    ack('--consumer', 'c', '--seq', String(seq)),
    { code: 2, stderr: /no consumer "c"/ },
    'nothing was begun',
  )
  t.match(ack('--consumer', 'd', '--seq', String(seq)), {
    code: 0,
    stdout: `d: cursor moved to seq ${seq}\n`,
  })
  t.match(ack('--consumer', 'd', '--seq', '1', '--json'), {
    code: 0,
    stdout: `{"consumer":"d","moved":false,"ok":true,"seq":${seq}}\n`,
  })
  t.equal(ack('--consumer', 'd', '--seq', '999').code, 4)
  t.same(given('--consumer', 'd', '--commit', 'ack'), [3])
  t.same(given('--consumer', 'd', '--commit', 'ack'), [3], 'until it is acknowledged')
  journal.close()
  const other = open(join(root, 'other'))
  other.close()
  const astray = tail(root, ['--store', join(root, 'other'), '--consumer', 'b'])
  t.match(astray, { code: 2, stderr: /another journal/ })
  const move = /one: kim-tail (.* --seq) N/.exec(astray.stderr)?.[1]?.split(' ') ?? []
  t.match(tail(root, [...move, '0', '--store', join(root, 'other')]), {
    code: 0,
    stdout: 'b: cursor moved to seq 0\n',
  })
  const words = /or kim-tail (.*): the next run then begins with new mail\n/.exec(astray.stderr)?.[1]
  t.match(tail(root, words?.split(' ') ?? []), { code: 0, stdout: 'deleted b\n' })
  t.equal(tail(root, ['--store', join(root, 'other'), '--consumer', 'b']).code, 0)
})

t.test('kim-tail cursors - lists, sets and removes', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': line(1) + line(2) })
  const cursors = (...args: string[]): ReturnType<typeof tail> => tail(root, ['cursors', ...args])
  t.match(cursors('ls'), { code: 0, stdout: '' })
  t.match(cursors('set', 'c', '--head', '--store', store, '--dry-run', '--json'), {
    code: 0,
    stdout: '{"consumer":"c","dry_run":true,"ok":true,"seq":2}\n',
  })
  t.match(cursors('ls'), { stdout: '' }, 'a dry run changes nothing')
  const set = (...args: string[]): string => cursors('set', ...args, '--store', store).stdout
  t.equal(set('river', '--seq', '1'), 'river: new consumer, cursor at seq 1\n')
  t.equal(
    set('rivre', '--seq', '1', '--dry-run'),
    'rivre: would be a new consumer, cursor at seq 1; did you mean river?\n',
  )
  t.equal(set('rivre', '--head'), 'rivre: new consumer, cursor at seq 2; did you mean river?\n')
  t.equal(set('river', '--head', '--dry-run'), 'river: cursor would move to seq 2\n')
  for (const name of ['river', 'rivre']) cursors('rm', name)
  t.equal(set('c', '--head'), 'c: new consumer, cursor at seq 2\n')
  t.equal(set('c', '--seq', '1'), 'c: cursor moved to seq 1\n')
  t.match(cursors('set', 'c', '--seq', '9', '--store', store), { code: 4 })
  t.match(cursors('set', 'c', '--store', store), { code: 2 })
  t.match(
    cursors('ls', '--json').stdout,
    /^\{"consumer":"c","project_id":"[0-9a-f]{64}","seq":1,"writer":"w_1-aa"\}\n$/,
  )
  t.match(cursors('rm', 'cc'), { code: 2, stderr: /did you mean c\?/ })
  t.equal(cursors('rm', 'c', '--dry-run').stdout, 'would delete c\n')
  t.equal(cursors('rm', 'c').stdout, 'deleted c\n')
  t.match(cursors('ls'), { stdout: '' })
})

t.test(
  'kim-tail --consumer - CL-25 a second one waits as long as a lock can be stale, then exits 75',
  async t => {
    const root = t.testdir()
    const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': line(1) })
    const args = ['--store', store, '--consumer', 'one', '--start', 'earliest', '-f']
    const first = new Following(root, args)
    await first.have(1)
    const second = tail(root, args)
    t.equal(second.code, 75)
    t.match(
      second.stderr,
      /^kim-tail: another process uses the consumer "one"; waiting for it\nkim-tail: .*\n {2}stop that process, or .*--consumer NAME\n$/,
      'said once',
    )
    first.child.kill('SIGKILL')
    await first.ended
    appendFileSync(join(store, 'events/seg-00000001.jsonl'), line(2))
    const heir = tail(
      root,
      args.filter(arg => arg !== '-f'),
    )
    t.equal(heir.code, 0, "a dead holder's lock is taken over")
    t.same(ids(heir.stdout.split('\n')), [2])
  },
)

t.test(
  'kim-tail --consumer - CL-8 a closed pipe is exit 0, with the cursor after what was flushed',
  async t => {
    const root = t.testdir()
    const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': line(1) })
    const args = ['--store', store, '--consumer', 'piped', '--start', 'earliest']
    const following = new Following(root, [...args, '-f'])
    await following.have(1)
    following.child.stdout.destroy()
    await new Promise(resolve => setTimeout(resolve, 100))
    appendFileSync(join(store, 'events/seg-00000001.jsonl'), line(2))
    const { code, stderr } = await following.ended
    t.equal(code, 0)
    t.equal(stderr, '')
    t.same(ids(tail(root, args).stdout.split('\n')), [2], 'what was not read comes again, and nothing else')
  },
)

t.test('kim-tail - CL-26 a gap is said where it stands, refused, or passed over', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000005.jsonl': line(5) + line(6) })
  const run = (...args: string[]): ReturnType<typeof tail> =>
    tail(root, ['--store', store, '--after-seq', '2', ...args])
  const told = run()
  t.equal(told.code, 0)
  t.same(ids(told.stdout.split('\n')), [5, 6])
  t.match(told.stderr, /records 3 to 4 are not available: the journal now begins at record 5/)
  t.match(
    run('-o', 'short').stdout,
    /^-- records 3 to 4 are not available: the journal now begins at record 5\n/,
  )
  t.match(run('-o', 'agent').stdout, /\nkim gap from=3 to=4 reason=archived\nseq=5 /)
  t.match(run('--on-gap', 'fail'), { code: 5, stdout: '' })
  t.match(run('--on-gap', 'ignore'), { code: 0, stderr: '' })
  mkdirSync(join(store, 'events/seg-00000003.jsonl'))
  t.match(run('--on-gap', 'fail'), {
    code: 5,
    stdout: '',
    stderr:
      /records 3 to 4 cannot be read: .*\/seg-00000003\.jsonl \(not_regular\)\n +make the file readable/,
  })
  t.match(tail(root, ['--store', store, '--after-seq', '99']), {
    code: 0,
    stdout: /./,
    stderr: /earlier state/,
  })
})

t.test('kim-tail - what stands at the end without effect is passed, not waited for', async t => {
  const root = t.testdir()
  const tx = { tx: { id: 'a', i: 2, n: 2 } }
  const store = write(join(root, 'store'), {
    'events/seg-00000001.jsonl': line(1) + line(2) + line(3, tx) + line(4, tx),
    'events/seg-00000005.jsonl': 'garbage\n',
  })
  const run = (...args: string[]): ReturnType<typeof tail> => tail(root, ['--store', store, ...args])
  t.same(ids(run('--after-seq', '1').stdout.split('\n')), [2])
  t.match(run('--after-seq', '2'), { code: 0, stdout: '' })
  t.match(run('--consumer', 'c', '--start', 'earliest', '-o', 'cat'), { code: 0, stdout: 'text 1\ntext 2\n' })
  t.match(run('--consumer', 'c', '-f', '--caught-up', '--deadline', '10s'), {
    code: 3,
    stderr: /caught up at seq 4/,
  })
})

t.test('kim-tail - a cursor token and a cursor file go on without repeats', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': line(1) + line(2) })
  const segment = join(store, 'events/seg-00000001.jsonl')
  const run = (...args: string[]): ReturnType<typeof tail> => tail(root, ['--store', store, ...args])
  const token = /cursor: (\S+)/.exec(run('--show-cursor').stderr)?.[1] ?? ''
  t.match(run('-o', 'short', '--show-cursor').stdout, `-- cursor: ${token}`)
  appendFileSync(segment, line(3))
  t.same(ids(run('--after-cursor', token).stdout.split('\n')), [3])
  t.same(ids(run('--cursor', token).stdout.split('\n')), [2, 3])
  const file = join(root, 'at')
  t.same(ids(run('--cursor-file', file).stdout.split('\n')), [], 'it begins at the head')
  appendFileSync(segment, line(4))
  t.same(ids(run('--cursor-file', file).stdout.split('\n')), [4])
  t.same(ids(run('--cursor-file', file).stdout.split('\n')), [])
  writeFileSync(file, 'no token')
  t.match(run('--cursor-file', file), { code: 2, stderr: /remove the file: the next run .* with new mail/ })
  t.same(ids(run('--after-seq', '3').stdout.split('\n')), [4])
  t.match(run('--cursor-file', join(store, 'run/at')), { code: 2, stderr: /inside the store/ }, 'CL-10')
  t.match(tail(root, ['--store', store, '--consumer', 'c'], { XDG_STATE_HOME: store }), { code: 2 }, 'CL-10')
  t.match(run('--after-id', 'river:new:2').stdout, /"seq":3/)
  t.same(ids(run('--after-id', '1', '-p', 'river').stdout.split('\n')), [2, 3, 4])
  t.equal(run('--after-id', 'river:new:99').code, 4)
})

t.test('kim-tail - stops at a count, a match, in silence and at last', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': line(1) + line(2) })
  const segment = join(store, 'events/seg-00000001.jsonl')
  const run = (...args: string[]): ReturnType<typeof tail> => tail(root, ['--store', store, ...args])
  t.match(run('-f', '--timeout', '200ms', '-n', '0'), { code: 3, stdout: '' }, 'CL-5')
  t.match(run('-f', '--timeout', '200ms'), { code: 0, stdout: /./ })
  t.match(run('-f', '--deadline', '200ms', '-c', '3'), { code: 3 })
  t.match(run('-f', '-c', '2'), { code: 0 })
  t.match(run('-f', '--until-match', 'text 2'), { code: 0 })
  appendFileSync(segment, line(3, { payload: { from: 'loom', id: 3 } }))
  const waiting = new Following(root, ['--store', store, '--wait', '--from', 'loom'])
  let isWaiting = true
  const ended = waiting.ended.finally(() => {
    isWaiting = false
  })
  // Again and again: when it has begun to wait shows in nothing but its end.
  for (let seq = 4; isWaiting; seq += 2) {
    appendFileSync(segment, line(seq) + line(seq + 1, { payload: { from: 'loom', id: seq + 1 } }))
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  t.equal((await ended).code, 0)
  t.equal(waiting.lines.length, 1)
  t.ok((ids(waiting.lines)[0] ?? 0) > 3, 'what stood there is not what is waited for')
})

t.test('kim-tail - a flood costs so many lines and one that counts the rest', async t => {
  const root = t.testdir()
  const lines = range(1, 50)
    .map(seq => line(seq))
    .join('')
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': lines })
  const following = new Following(root, [
    '--store',
    store,
    '-f',
    '-o',
    'agent',
    '--after-seq',
    '0',
    '--max-rate',
    '3/5s',
  ])
  await following.until(({ lines: said }) => said.some(text => text.startsWith('kim suppressed')))
  const said = following.lines.filter(text => !text.startsWith('kim ready'))
  t.same(
    said.map(text => text.split(' ').slice(0, 2).join(' ')),
    ['seq=1 id=river:new:1', 'seq=2 id=river:new:2', 'seq=3 id=river:new:3', 'kim suppressed'],
  )
  t.match(said[3], 'kim suppressed n=47 first=4 last=50')
  await stop(following)
})

t.test('kim-tail -o monitor - heartbeats for each persona, by this process', async t => {
  const root = t.testdir()
  const persona = {
    agent: 'river',
    event: 'armed',
    item_id: 'river',
    item_type: 'persona',
    payload: { cursor: 7, persona: 'river' },
  }
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': line(1, persona) })
  const following = new Following(root, ['--store', store, '-f', '-o', 'monitor', '--heartbeat', '50ms'])
  const lines = await following.have(3)
  t.match(lines[0], /^\{"event": "armed", /)
  const [first, second] = lines
    .slice(1, 3)
    .map(text => JSON.parse(text) as { event_id: string; cursor: number; ts: string })
  t.match(first?.event_id, /^river:heartbeat:[0-9a-f]{16}-1$/)
  t.equal(second?.event_id, first?.event_id.replace(/1$/, '2'))
  t.equal(first?.cursor, 7)
  t.match(lines[1], /"wake_class": "liveness"\}$/)
  await stop(following)
})

t.test('kim-tail -o agent - ends when its parent does', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': line(1) })
  const out = join(root, 'out')
  const script = `"${process.execPath}" "${BIN}" --store "${store}" -f -o agent > "${out}" & echo $!; exec sleep 600`
  // The shell becomes the sleeping parent: when it goes, the command is somebody else's child.
  const parent = spawn('bash', ['-c', script], {
    env: environment(root),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const pid = await new Promise<number>(resolve =>
    parent.stdout.once('data', chunk => resolve(Number(String(chunk)))),
  )
  const { readFileSync } = await import('node:fs')
  const said = (): string => {
    try {
      return readFileSync(out, 'utf8')
    } catch {
      return ''
    }
  }
  while (!said().includes('kim ready')) await new Promise(resolve => setTimeout(resolve, 50))
  parent.kill('SIGKILL')
  while (!said().includes('kim end')) await new Promise(resolve => setTimeout(resolve, 50))
  t.match(said(), /kim end reason=parent_gone/)
  t.ok(pid > 0)
})

t.test('kim-tail -f - an events directory that is moved away and back goes on', async t => {
  const root = t.testdir()
  const store = write(join(root, 'store'), { 'events/seg-00000001.jsonl': line(1) })
  const following = new Following(root, ['--store', store, '-f', '-o', 'cat'])
  await following.have(1)
  renameSync(join(store, 'events'), join(store, 'elsewhere'))
  mkdirSync(join(store, 'events'))
  rmSync(join(store, 'events'), { recursive: true })
  renameSync(join(store, 'elsewhere'), join(store, 'events'))
  appendFileSync(join(store, 'events/seg-00000001.jsonl'), line(2))
  await following.have(2)
  t.same(following.lines, ['text 1', 'text 2'])
  await stop(following)
})
