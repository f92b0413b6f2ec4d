import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ALL, complete, cut, directory, FP, NF, page, row, type Scene } from '../../kit/kijito/index.js'
import { logOf, said } from './lines.js'

/** Runs a command for each event. */
const exec = (command: string): string[] => ['--emit', 'exec-per-event', '--exec', command]

/** What commands noted, a line each. */
const noted = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []

/** A command that notes what it was told. */
const NOTE = 'echo "$KIJITOMON_EVENT $KIJITOMON_ID$KIJITOMON_CURSOR"'

async function notes(scene: Scene, file: string, line: string, times = 1): Promise<void> {
  await scene.until(`${times} x "${line}"`, () => noted(file).filter(one => one === line).length >= times)
}

row(
  'E8',
  'a command that refuses an alert does not keep the inbox from being down (KS-72)',
  {},
  async (t, scene) => {
    scene.newest({ status: 500 })
    const producer = scene.start([...NF, '--alert-after', '2', ...exec('exit 1')])
    await scene.tells('alert unreachable')
    await scene.until('it is said', () => said(producer.stderr, 'sink_failing').length > 0)
    await scene.polls(2)
    t.match(
      said(producer.stderr, 'sink_failing'),
      [{ event_id: /^argus:alert:/, msg: /exited with 1/ }],
      'once',
    )
    t.equal(scene.alert('unreachable')?.['status'], 'open')
  },
)

row('E9', 'an alert that no command took is retried until one takes it (KS-72)', {}, async (t, scene) => {
  const out = join(scene.home, 'out')
  const gate = join(scene.home, 'gate')
  scene.newest({ status: 500 })
  const producer = scene.start([...NF, '--alert-after', '2', ...exec(`test -e ${gate} && ${NOTE} >> ${out}`)])
  await scene.until('it is refused', () => said(producer.stderr, 'sink_failing').length > 0)
  writeFileSync(gate, '')
  await notes(scene, out, 'alert ')
  await scene.until('it is said', () => said(producer.stderr, 'sink_working').length > 0)
  t.same(noted(out), ['alert '])
})

row(
  'F17',
  'what a command refused once comes again soon (KS-72)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    const gate = join(scene.home, 'gate')
    scene.newest(complete(4))
    const command = `${NOTE} >> ${out}; test "$KIJITOMON_EVENT" != new || test -e ${gate} || { touch ${gate}; exit 1; }`
    scene.start([...FP, '--resync-every', '4', ...exec(command)])
    await notes(scene, out, 'armed 4')
    scene.clear()
    scene.newest(complete(4, 5))
    await notes(scene, out, 'new 5', 2)
    t.same(noted(out), ['armed 4', 'new 5', 'new 5'])
  },
)

row(
  'G33',
  'an alert of a gap is retried until it is taken, and then no more (KS-27, KS-72)',
  { standing: { cursor: 100 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    scene.newest(cut(200))
    scene.walk(200, { status: 500 })
    const tries = join(scene.home, 'tries')
    const command = `test "$KIJITOMON_EVENT" = alert || exit 0; echo "$KIJITOMON_EVENT_ID" >> ${tries}; test $(wc -l < ${tries}) -gt 2 || exit 1; ${NOTE} >> ${out}`
    scene.start([...NF, ...exec(command)])
    await notes(scene, out, 'alert ')
    await scene.polls(3)
    t.equal(noted(tries).length, 3)
    t.equal(new Set(noted(tries)).size, 1, 'one name for it')
    t.same(noted(out), ['alert '])
  },
)

row(
  'H11',
  'an alert of hidden mail is retried until it is taken (KS-72)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    const gate = join(scene.home, 'gate')
    scene.newest(page([4], { truncated: true, next_before_id: 4, unread_not_shown: 3 }))
    const command = `test "$KIJITOMON_EVENT" = alert || exit 0; ${NOTE} >> ${out}; test -e ${gate}`
    const producer = scene.start([...NF, ...exec(command)])
    await notes(scene, out, 'alert ', 2)
    writeFileSync(gate, '')
    await scene.until('it is taken', () => said(producer.stderr, 'sink_working').length > 0)
    const tries = noted(out).length
    await scene.polls(3)
    t.equal(noted(out).length, tries, 'and then no more')
  },
)

row(
  'J5',
  'a command gets what the event says, and nothing else of it (KS-74)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    scene.newest(
      page([4, { id: 5, from: 'river', content: 'a\u0000b', created: '2026-06-10T14:03:21Z', read: false }]),
    )
    const command = `test "$KIJITOMON_EVENT" != new || env | grep ^KIJITOMON_ | sort >> ${out}`
    scene.start([...NF, ...exec(command)])
    await scene.until('it ran', () => noted(out).length >= 10)
    t.same(
      noted(out).map(line => line.replace(/(TS|NONCE)=.*/, '$1')),
      [
        'KIJITOMON_CONTENT=ab',
        'KIJITOMON_CREATED=2026-06-10T14:03:21Z',
        'KIJITOMON_EVENT=new',
        'KIJITOMON_EVENT_ID=argus:new:5',
        'KIJITOMON_FROM=river',
        'KIJITOMON_ID=5',
        'KIJITOMON_NONCE',
        'KIJITOMON_PERSONA=argus',
        'KIJITOMON_SOURCE=kijito-inbox',
        'KIJITOMON_TS',
      ],
    )
  },
)

row(
  'J6',
  'neither a credential nor an older event reaches a command (KS-74, KS-84)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    scene.newest(complete(4))
    const env = { KIM_TOKEN: 'a-secret', KIJITOMON_TOKEN: 'a-secret', KIJITOMON_ID: '999' }
    scene.start([...NF, ...exec(`env >> ${out}; echo whole >> ${out}`)], env)
    await notes(scene, out, 'whole')
    t.match(noted(out).join('\n'), /^KIJITOMON_EVENT=armed$/m)
    t.notMatch(noted(out).join('\n'), /a-secret|=999$/m)
  },
)

row(
  'J7',
  'what a command refuses holds what follows it, and nothing else (KS-72)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    scene.newest(complete(4, 5, 6))
    const command = `echo "$KIJITOMON_EVENT_ID $KIJITOMON_NONCE" >> ${out}; test "$KIJITOMON_ID" != 5`
    scene.start([...NF, ...exec(command)])
    const again = 'argus:new:5 QVYJLn8UH9E'
    await notes(scene, out, again, 3)
    t.same([...new Set(noted(out).slice(1))], [again])
    t.same(scene.story(), ['armed(4)', 'new 5', 'new 6'], 'the journal goes on')
  },
)

row(
  'J8',
  'a command that takes no mail keeps none from the journal (KS-72)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    scene.newest(complete(3, 4, 7))
    const command = `${NOTE} >> ${out}; test "$KIJITOMON_EVENT" != new`
    const first = scene.start([...NF, ...exec(command)])
    await notes(scene, out, 'new 7', 2)
    t.equal(await first.stop(), 0)
    t.equal(scene.story().filter(line => line === 'new 7').length, 1)
    scene.start([...NF, ...exec(`${NOTE} >> ${out}.2`)])
    await notes(scene, `${out}.2`, 'armed 7')
    t.same(noted(`${out}.2`), ['new 7', 'armed 7'], 'in the next life it comes first')
  },
)

row(
  'J9',
  'a command that hangs has 10 s, and leaves nothing behind (KS-74)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const pids = join(scene.home, 'pids')
    const out = join(scene.home, 'out')
    scene.newest(complete(4, 5))
    // What it starts ignores the polite request.
    const command = `test "$KIJITOMON_EVENT" = new || exit 0; if test -e ${pids}; then ${NOTE} >> ${out}; exit 0; fi; (trap '' TERM; exec sleep 60) & echo $! > ${pids}; sleep 60`
    const producer = scene.start([...NF, ...exec(command)])
    await scene.until('its time is up', () => said(producer.stderr, 'sink_failing').length > 0)
    t.match(said(producer.stderr, 'sink_failing'), [
      { msg: /took longer than 10 s/, event_id: 'argus:new:5' },
    ])
    const pid = Number(readFileSync(pids, 'utf8'))
    await scene.until('it is gone', () => !isAlive(pid))
    await notes(scene, out, 'new 5')
  },
)

row(
  'J10',
  'a command that is not there is said, and waited for (KS-72)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const command = join(scene.home, 'command')
    const out = join(scene.home, 'out')
    scene.newest(complete(4, 5))
    const producer = scene.start([...NF, ...exec(command)])
    await scene.until('it is said', () => said(producer.stderr, 'sink_failing').length > 0)
    t.match(said(producer.stderr, 'sink_failing'), [{ msg: /exited with 127/ }])
    writeFileSync(command, `#!/bin/sh\n${NOTE} >> ${out}\n`, { mode: 0o700 })
    await notes(scene, out, 'new 5')
    t.same(noted(out), ['new 5'], 'the sign of life was tried once')
  },
)

row(
  'KS-72 refused',
  'a command that handles mail alone, and fails for all else, gets the mail',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const wake = join(scene.home, 'wake')
    scene.newest(complete(4, 5))
    const command = `[ "$KIJITOMON_EVENT" = new ] && echo "$KIJITOMON_ID" >> ${wake}`
    const producer = scene.start([...NF, '--heartbeat', '3', ...exec(command)])
    await notes(scene, wake, '5')
    scene.newest(complete(4, 5, 6))
    await notes(scene, wake, '6')
    await scene.until('a heartbeat is skipped', () => said(producer.stderr, 'sink_skipped').length > 1)
    t.same(noted(wake), ['5', '6'])
    t.match(said(producer.stderr, 'sink_skipped'), [
      {
        level: 'warn',
        event: 'armed',
        tries: 1,
        skipped: 1,
        msg: /skipped the event \S+ after one try: .*exited with 1/,
      },
      { event: 'heartbeat', tries: 1, skipped: 1 },
    ])
    t.same(said(producer.stderr, 'sink_failing'), [])
    t.equal(await producer.stop(), 0)
    const health = JSON.parse(readFileSync(join(scene.store, 'run', 'health.json'), 'utf8')) as {
      sinks: { state: string; skipped: { liveness: number } }[]
    }
    t.match(health.sinks, [{ state: 'working', held: 0 }])
    t.ok((health.sinks[0]?.skipped.liveness ?? 0) >= 2)
    const metrics = readFileSync(join(scene.store, 'run', 'metrics.prom'), 'utf8')
    t.match(metrics, /^kim_sink_skipped_total\{sink="exec-per-event",wake_class="liveness"\} [1-9]/m)
  },
)

row('KS-72 lanes', 'what a command refuses for one inbox holds no other inbox', {}, async (t, scene) => {
  const out = join(scene.home, 'out')
  const gate = join(scene.home, 'gate')
  scene.rule({ on: { endpoint: 'personas' }, effect: [directory('argus', 'loom', 'river')] })
  // One inbox's mail is refused, and another one's command hangs.
  const command = `echo "$KIJITOMON_PERSONA $KIJITOMON_EVENT $KIJITOMON_ID" >> ${out}
    test "$KIJITOMON_EVENT" != new || test -e ${gate} || { test "$KIJITOMON_PERSONA" != argus || exit 1
    test "$KIJITOMON_PERSONA" != loom || sleep 5; }`
  const producer = scene.start([...ALL, '--exec', command])
  for (const persona of ['argus', 'loom', 'river']) await notes(scene, out, `${persona} armed `)
  const sent = ['argus', 'loom', 'argus', 'river', 'river'].map(
    persona => [persona, scene.send(persona)] as const,
  )
  const [first, , second, third, fourth] = sent.map(([persona, id]) => `${persona} new ${id}`)
  await notes(scene, out, `${fourth}`)
  await notes(scene, out, `${first}`, 3)
  const early = noted(out)
  t.same([early.includes(`${third}`), early.includes(`${second}`)], [true, false])
  t.match(said(producer.stderr, 'sink_failing'), [{ persona: 'argus', msg: /the command exited with 1/ }])
  writeFileSync(gate, '')
  await notes(scene, out, `${second}`)
  await scene.until('it is said', () => said(producer.stderr, 'sink_working').length > 0)
  t.equal(noted(out).filter(line => line === third || line === fourth).length, 2, 'once each')
  t.equal(await producer.stop(), 0, producer.stderr)
})

row(
  'KS-72 limit',
  '--exec alone is the sink, and --max-attempts skips mail that a command refuses',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    scene.newest(complete(4, 5, 6))
    const command = `${NOTE} >> ${out}; test "$KIJITOMON_ID" != 5`
    const producer = scene.start([...NF, '--exec', command, '--max-attempts', '2'])
    await notes(scene, out, 'new 6')
    t.same(noted(out), ['armed 4', 'new 5', 'new 5', 'new 6'])
    t.equal(await producer.stop(), 0)
    t.match(said(producer.stderr, 'sink_skipped'), [
      { level: 'error', event_id: 'argus:new:5', persona: 'argus', tries: 2, skipped: 1 },
    ])
    const metrics = readFileSync(join(scene.store, 'run', 'metrics.prom'), 'utf8')
    t.match(metrics, /^kim_sink_skipped_total\{sink="exec-per-event",wake_class="mail"\} 1/m)
  },
)

row(
  'KS-74',
  'megabytes of output stop no event, and are not on stdout',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    scene.newest(complete(4, 5, 6))
    const command = `yes 'much to say' | head -c 5000000; ${NOTE} >> ${out}`
    const producer = scene.start([...NF, ...exec(command)])
    await notes(scene, out, 'new 6')
    t.same(noted(out), ['armed 4', 'new 5', 'new 6'])
    await scene.until('its output is logged', () => said(producer.stderr, 'exec_output').length >= 3)
    t.equal(await producer.stop(), 0)
    t.equal(producer.stdout, '')
    t.match(said(producer.stderr, 'exec_output'), [{ event_id: /armed/, bytes: 5_000_000 }, {}, {}])
    t.equal(logOf(producer.stderr).length, producer.stderr.split('\n').length - 1, 'the log is lines of JSON')
  },
)

row(
  'KS-74 KS-87 missing',
  'a missing command is reported as that, once for all its tries',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    const command = join(scene.home, 'missing')
    scene.newest(complete(4, 5))
    const isMail = 'test "$KIJITOMON_EVENT" = new || exit 0'
    const producer = scene.start([...NF, ...exec(`${isMail}; echo tried >> ${out}; ${command}`)])
    const tries = (): number => (existsSync(out) ? readFileSync(out, 'utf8').split('\n').length - 1 : 0)
    await scene.until('it was tried again', () => tries() >= 3)
    t.match(said(producer.stderr, 'sink_failing'), [{ msg: /exited with 127: command not found/ }])
    t.match(said(producer.stderr, 'exec_output'), [{ output: /missing/ }])
  },
)

row(
  'KS-74 long',
  'an event that no system would take whole holds nothing up',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    const created = '2026-06-10T14:03:21Z'
    const long = { id: 5, from: 'F'.repeat(200_000), content: 'x', created, read: false }
    scene.newest(page([4, long, { ...long, id: 6, from: 'river' }]))
    const producer = scene.start([...NF, ...exec(`${NOTE} >> ${out}`)])
    await notes(scene, out, 'new 6')
    t.same(noted(out), ['armed 4', 'new 5', 'new 6'])
    t.equal(await producer.stop(), 0)
    t.same(said(producer.stderr, 'sink_failing'), [])
  },
)

row(
  'KS-74 fork',
  'what a command leaves running does not hold the next event',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    const pids = join(scene.home, 'pids')
    scene.newest(complete(4, 5, 6))
    const command = `sleep 60 & echo $! >> ${pids}; ${NOTE} >> ${out}`
    const producer = scene.start([...NF, ...exec(command)])
    await notes(scene, out, 'new 6')
    t.equal(await producer.stop(), 0, 'nor the end')
    for (const pid of noted(pids).map(Number)) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  },
)

row(
  'KS-72 end',
  'a command under way is ended with the service, and its event comes again',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const out = join(scene.home, 'out')
    scene.newest(complete(4, 5))
    const first = scene.start([
      ...NF,
      ...exec(`${NOTE} >> ${out}; test "$KIJITOMON_EVENT" != new || sleep 60`),
    ])
    await notes(scene, out, 'new 5')
    t.equal(await first.stop(), 0)
    scene.start([...NF, ...exec(`${NOTE} >> ${out}`)])
    await notes(scene, out, 'armed 5')
    t.same(noted(out), ['armed 4', 'new 5', 'new 5', 'armed 5'])
  },
)

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    // A process that ended and was not reaped yet is no process any more.
    return !/^\S+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return process.platform !== 'linux'
  }
}
