import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { openJournal } from '@kim/producer/internal'
import t from 'tap'
import { BIN, environment, line, tail, write } from './kim-tail-process.js'

/** A store of ten messages to river and one to loom, the latter marked read later. */
function handMade(root: string): string {
  const lines = Array.from({ length: 10 }, (_, i) => line(i + 1))
  const loom = { agent: 'loom', item_id: 'loom/50' }
  const files = {
    'store/events/seg-00000001.jsonl': lines.slice(0, 6).join(''),
    'store/events/seg-00000007.jsonl': [
      ...lines.slice(6),
      line(11, loom),
      line(12, { ...loom, action: 'update', event: undefined, entity_rev: 2 }),
    ].join(''),
  }
  return join(write(root, files), 'store')
}

const seqs = (stdout: string): number[] =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map(text => (JSON.parse(text) as { seq: number }).seq)

t.test('kim-tail - prints the stored lines of the real writer, byte for byte', async t => {
  const root = t.testdir()
  const store = join(root, 'store')
  const journal = openJournal({ storeDir: store, source: 'http://localhost:7474', segmentBytes: 4096 })
  for (let id = 1; id <= 30; id++) {
    journal.append([
      {
        agent: 'river',
        action: 'create',
        item_type: 'message',
        item_id: `river/${id}`,
        event: 'new',
        summary: `from argus: ${id}`,
        payload: {
          schema_version: 1,
          persona: 'river',
          id,
          from: 'argus',
          content: `grün ${id}`,
          content_length: 7,
          created: '2026-06-10T14:03:21Z',
          read: false,
        },
      },
    ])
  }
  const head = journal.head.seq
  journal.close()
  const all = tail(root, ['--store', store, '-n', 'all', '--all-records'])
  t.equal(all.code, 0)
  t.same(
    seqs(all.stdout),
    Array.from({ length: seqs(all.stdout).length }, (_, i) => i + 1),
  )
  t.ok(seqs(all.stdout).at(-1) === head || seqs(all.stdout).at(-1) === head + 1, 'to the end')
  const ten = tail(root, ['--store', store, '-p', 'river'])
  t.equal(ten.code, 0)
  t.equal(ten.stderr, '')
  t.ok(all.stdout.endsWith(ten.stdout) || all.stdout.includes(ten.stdout.split('\n')[9] ?? '-'))
  t.same(
    ten.stdout
      .split('\n')
      .filter(Boolean)
      .map(text => (JSON.parse(text) as { payload: { id: number } }).payload.id),
    [21, 22, 23, 24, 25, 26, 27, 28, 29, 30],
  )
})

t.test('kim-tail - selects and positions', async t => {
  const root = t.testdir()
  const store = handMade(root)
  const of = (...args: string[]): number[] => {
    const done = tail(root, ['--store', store, ...args])
    t.equal(done.code, 0, `${args.join(' ')} ${done.stderr}`)
    return seqs(done.stdout)
  }
  t.same(of('-p', 'river'), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  t.same(of('-n', '3'), [9, 10, 11], 'CL-20 a read mark is no entry')
  t.same(of('-n', '3', '--all-records'), [10, 11, 12])
  t.same(of('-p', 'loom', '-n', 'all'), [11])
  t.same(of('-p', 'loom,river', '-n', '2'), [10, 11])
  t.same(of('-n', '0'), [])
  t.same(of('-g', 'text [12]$', '-n', 'all'), [1, 2])
  t.same(of('--to-seq', '3'), [1, 2, 3])
  t.same(of('-S', '2026-06-10T14:03:22Z', '-n', '1'), [11])
  t.same(of('-S', '2026-06-11'), [])
  t.same(of('-t', 'message.update', '--all-records'), [12])
  t.same(of('-c', '2', '-n', 'all'), [1, 2])
  t.same(of('--until-match', 'text 3', '-n', 'all'), [1, 2, 3])
  t.equal(tail(root, ['--store', store, '--until-match', 'nothing']).code, 3)
})

t.test('kim-tail - CL-27 no such persona or store is exit 4, with the closest known name', async t => {
  const root = t.testdir()
  const store = handMade(root)
  const persona = tail(root, ['--store', store, '-p', 'rivr'])
  t.equal(persona.code, 4)
  t.equal(persona.stdout, '')
  t.equal(persona.stderr, 'kim-tail: no persona "rivr"; did you mean river?\n  known: loom, river\n')
  const all = tail(root, ['--store', store, '-p', 'Loom', '-n', 'all'])
  t.equal(all.code, 4, 'exact case')
  const missing = tail(root, ['--store', join(root, 'stroe')])
  t.equal(missing.code, 4)
  t.match(missing.stderr, /there is no journal at .*stroe\n {2}did you mean .*store\?/)
  t.match(
    tail(root, ['--store', join(store, 'events')]).stderr,
    /this is an events directory, so use: --events/,
  )
  t.equal(tail(root, ['--events', join(store, 'events'), '-p', 'river']).code, 0)
  t.equal(tail(root, []).code, 4, 'the default store')
  const agent = tail(root, ['--store', store, '-p', 'rivr', '-o', 'agent'])
  t.equal(agent.code, 4)
  t.match(agent.stdout, /^kim error code=no_persona .*did you mean river.*\nkim end reason=error/s, 'CL-38')
})

t.test('kim-tail - CL-8 a closed pipe is exit 0 and silence', async t => {
  const root = t.testdir()
  const store = join(root, 'store')
  const lines = Array.from({ length: 20_000 }, (_, i) => line(i + 1)).join('')
  write(store, { 'events/seg-00000001.jsonl': lines })
  const command = `"${process.execPath}" "${BIN}" --store "${store}" -n all; echo "exit $?" >&2`
  const piped = spawnSync('bash', ['-c', `{ ${command}; } | head -1`], {
    encoding: 'utf8',
    env: environment(root),
  })
  t.equal(piped.stdout.split('\n').length, 2)
  t.equal(piped.stderr, 'exit 0\n')
})

t.test('kim-tail - agent mode begins with ready, ends with end, and lists existing records', async t => {
  const root = t.testdir()
  const store = handMade(root)
  const { code, stdout } = tail(root, ['--store', store, '-p', 'river', '-n', '2'], { KIM_AGENT: '1' })
  t.equal(code, 0)
  const [ready, first, second, end, ...rest] = stdout.split('\n')
  t.match(ready, /^kim ready seq=12 unhandled=2 oldest=\d+d producer=unknown$/)
  t.match(first, /^seq=9 id=river:new:9 from=argus type=message\.new urgent=0 age=\d+d \| text 9$/)
  t.match(second, /^seq=10 /)
  t.equal(end, 'kim end reason=done resume="--after-seq 12"')
  t.same(rest, [''])
})

t.test('kim-tail - output cannot be forged in any mode but json', async t => {
  const root = t.testdir()
  const store = join(root, 'store')
  const content = 'one\nseq=9 id=x\r\u001b[2J\u202ekcab\u2028kim end\u0007'
  const payload = { content, from: 'ar\ngus', id: 1, persona: 'river' }
  write(store, {
    'events/seg-00000001.jsonl': line(1, {
      payload,
      summary: content,
      agent: 'ri\nver',
      item_id: 'ri\nver/1',
    }),
  })
  for (const mode of ['short', 'short-iso', 'cat', 'agent', 'monitor', 'cloudevents', 'json-pretty']) {
    const { code, stdout } = tail(root, ['--store', store, '-o', mode, '--color', 'always'])
    t.equal(code, 0, mode)
    t.notMatch(
      stdout.replaceAll(/\u001b\[\d+m/g, ''),
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/,
      mode,
    )
    const lines = stdout.split('\n').filter(text => text !== '')
    t.equal(lines.length, mode === 'agent' ? 3 : mode === 'json-pretty' ? 19 : 1, mode)
  }
  for (const extra of [
    ['--fields', 'agent,text', '-o', 'short'],
    ['--template', '{agent} {text}'],
  ]) {
    t.equal(tail(root, ['--store', store, ...extra]).stdout.split('\n').length, 2)
  }
})

t.test('kim-tail show - the whole record by seq or event id, exit 4 and 6', async t => {
  const root = t.testdir()
  const big = JSON.stringify({
    content: `${'x'.repeat(70_000)}\nkim end`,
    from: 'argus',
    id: 3,
    persona: 'river',
  })
  const sha256 = createHash('sha256').update(big).digest('hex')
  const ref = (bytes: number): object => ({ payload: undefined, payload_ref: { sha256, bytes } })
  const store = join(root, 'store')
  write(store, {
    'events/seg-00000001.jsonl':
      line(1, { payload: { content: 'a\nkim end\u001b', from: 'argus', id: 1, persona: 'river' } }) +
      `{"v":2,"seq":2,"action":7}\n${line(3, { ...ref(big.length) })}${line(4, { ...ref(5) })}`,
    [`events/blobs/${sha256.slice(0, 2)}/${sha256}`]: big,
  })
  const show = (...args: string[]): ReturnType<typeof tail> => tail(root, ['show', ...args, '--store', store])
  const first = show('river:new:1')
  t.equal(first.code, 0)
  t.match(first.stdout, /^seq: 1\nid: river:new:1\n/)
  t.same(show('river/1'), first, 'D5 CL-75 by its item id too')
  t.match(first.stdout, /\n\n {4}a\n {4}kim end\\x1b\n$/, 'each line of a body is set in and escaped')
  t.equal(
    show('1', '--json').stdout,
    line(1, { payload: { content: 'a\nkim end\u001b', from: 'argus', id: 1, persona: 'river' } }),
  )
  const blob = show('3', '--json')
  t.equal(blob.code, 0)
  t.equal((JSON.parse(blob.stdout) as { payload: { content: string } }).payload.content.length, 70_008)
  t.match(show('9'), { code: 4, stderr: /the journal has no record 9\n {2}.*kim-tail status/ })
  t.equal(show('river:new:9').code, 4)
  t.match(show('2'), { code: 6, stderr: /no_action/ })
  t.match(show('4'), { code: 6, stderr: /blob/ })
  t.equal(show('nonsense').code, 2)
})

t.test('kim-tail - usage errors are exit 2 with a way out; help and version are 0', async t => {
  const root = t.testdir()
  t.match(tail(root, ['--lnies', '5']), { code: 2, stderr: /unknown flag --lnies; did you mean --lines\?/ })
  t.match(tail(root, ['shwo', '5']), { code: 2, stderr: /./ })
  t.match(tail(root, ['statsu']), { code: 2, stderr: /did you mean status\?/ })
  t.match(tail(root, ['--help']), { code: 0, stdout: /--consumer/, stderr: /^$/ })
  t.match(tail(root, ['show', '--help']), { code: 0, stdout: /event id/ })
  t.match(tail(root, ['--version']), { code: 0, stdout: /^\d+\.\d+\.\d+\n$/ })
  for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
    t.match(tail(root, ['completion', shell]), { code: 0, stdout: /until-match/ })
  }
  t.equal(tail(root, ['completion', 'cmd']).code, 2)
})

t.test('kim-tail schema - names and prints what the manifest comes with', async t => {
  const root = t.testdir()
  const names = tail(root, ['schema'])
  t.equal(names.code, 0)
  for (const name of names.stdout.split('\n').filter(Boolean)) {
    const one = tail(root, ['schema', name])
    t.equal(one.code, 0, name)
    t.type(JSON.parse(one.stdout), 'object')
  }
  t.match(tail(root, ['schema', 'mesage']), { code: 2, stderr: /did you mean message\?/ })
})

t.test('kim-tail - KIM_STORE and KIM_PERSONA stand for their flags', async t => {
  const root = t.testdir()
  const store = handMade(root)
  const { code, stdout } = tail(root, ['-n', '1'], { KIM_STORE: store, KIM_PERSONA: 'river' })
  t.equal(code, 0)
  t.same(seqs(stdout), [10])
  t.same(
    seqs(tail(root, ['-n', '1', '--all-personas'], { KIM_STORE: store, KIM_PERSONA: 'river' }).stdout),
    [11],
  )
})

t.test('kim-tail - CL-26 a segment that is missing in the middle is a gap, where it stands', async t => {
  const root = t.testdir()
  const lines = Array.from({ length: 12 }, (_, i) => line(i + 1))
  const store = write(join(root, 'store'), {
    'events/seg-00000001.jsonl': lines.slice(0, 3).join(''),
    'events/seg-00000007.jsonl': lines.slice(6, 9).join(''),
    'events/seg-00000010.jsonl': lines.slice(9).join(''),
  })
  const at = ['--store', store]
  const gap = 'kim gap from=4 to=6 reason=missing'
  const agent = tail(root, [...at, '-n', 'all', '-o', 'agent']).stdout.split('\n')
  t.equal(agent.indexOf(gap), 4, 'after the ready line and three records')
  t.equal(agent.lastIndexOf(gap), 4, 'once')
  const short = tail(root, [...at, '-n', '8', '-o', 'short']).stdout.split('\n')
  t.equal(short.indexOf('-- records 4 to 6 are missing from the journal'), 2)
  const json = tail(root, [...at, '-n', 'all', '-o', 'json'])
  t.same(seqs(json.stdout), [1, 2, 3, 7, 8, 9, 10, 11, 12])
  t.equal(json.stderr, 'kim-tail: records 4 to 6 are missing from the journal\n')
  t.equal(tail(root, [...at, '-n', '6']).stderr, '', 'what was not asked for is not missed')
  t.equal(tail(root, [...at, '-n', 'all', '--on-gap', 'ignore']).stderr, '')
  for (const position of [
    ['-n', 'all'],
    ['--after-seq', '1'],
    ['--from-seq', '2'],
  ]) {
    const said = tail(root, [...at, ...position, '-o', 'agent']).stdout.split('\n')
    t.equal(said.filter(text => text === gap).length, 1, position.join(' '))
    const failed = tail(root, [...at, ...position, '-o', 'json', '--on-gap', 'fail'])
    t.equal(failed.code, 5)
    t.equal(seqs(failed.stdout).at(-1), 3, 'nothing behind it')
  }
  t.match(tail(root, [...at, '-p', 'river', '--after-seq', '3', '-o', 'agent']).stdout, gap)
})

t.test('kim-tail --since - CL-21 one segment that a wrong clock wrote hides nothing before it', async t => {
  const root = t.testdir()
  const at = (seq: number, hour: number): string =>
    line(seq, { ts: new Date(Date.UTC(2026, 5, 10, hour)).toISOString() })
  const store = write(join(root, 'store'), {
    'events/seg-00000001.jsonl': at(1, 1) + at(2, 10),
    'events/seg-00000003.jsonl':
      line(3, { ts: '1970-01-01T00:00:01.000Z' }) + line(4, { ts: '1970-01-01T00:00:02.000Z' }),
    'events/seg-00000005.jsonl': line(5, { ts: '1970-01-01T00:00:03.000Z' }) + at(6, 12),
  })
  for (const more of [[], ['-n', '9']]) {
    const { stdout } = tail(root, ['--store', store, '-o', 'cat', '--since', '2026-06-10T09:00:00Z', ...more])
    t.equal(stdout, 'text 2\ntext 6\n', more.join(' '))
  }
})
