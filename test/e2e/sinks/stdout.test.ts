import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { complete, NF, row } from '../../kit/kijito/index.js'
import { mail, parsed, said, told, wholeLines } from './lines.js'

const STDOUT = ['--emit', 'stdout-jsonl']

row(
  'A9',
  'flags that contradict each other are refused before anything is asked (CL-12)',
  {},
  async (t, scene) => {
    const file = join(scene.home, 'ev')
    const wrong = [
      ['--emit', 'exec-per-event'],
      ['--emit', 'exec-per-event', '--exec', ' '],
      ['--exec', ''],
      ['--exec', 'true', '--max-attempts', '0'],
      ['--events-file', file, '--events-file-template', `${file}.{persona}`],
      ['--events-file-template', file],
      ['--events-file', `${file}.{persona}`],
      ['--events-file', ''],
      ['--emit', 'carrier-pigeon'],
      ['--heartbeat', '0'],
      ['--keep-logs', '0'],
      ['--content-chars', '-1'],
      ['--max-bytes', 'many'],
      ['--events-files', file],
      ['--events-file', join(scene.store, 'ev')],
      ['--events-file', scene.store],
      ['--events-file-template', join(scene.store, '{persona}')],
      ['--events-file-template', join(scene.store, '{persona}', 'ev')],
      ['--activity-file', join(scene.store, 'run', 'activity.json')],
      ['--events-file', file, '--activity-file', file],
      ['--events-file', file, '--activity-file', `${file}.2`],
      ['--events-file-template', `${file}.{persona}`, '--activity-file', `${file}.argus`],
    ]
    for (const flags of wrong) {
      const producer = scene.start([...NF, ...flags])
      t.equal(await producer.ended, 2, flags.join(' '))
      t.match(producer.stderr, /^kim-producer: .+\n {2}.+\n$/, flags.join(' '))
    }
    t.same(scene.asked(), [])
    t.notOk(existsSync(scene.store))
    mkdirSync(scene.store, { mode: 0o700 })
    symlinkSync(scene.store, join(scene.home, 'link'))
    const roundabout = scene.start([...NF, '--events-file', join(scene.home, 'link', 'ev')])
    t.equal(await roundabout.ended, 2, 'a link leads into the store too')
    const state = scene.run(
      ['run', '--store', scene.store, '--url', scene.url, '--allow-loopback', '--dialect', 'local'],
      {
        XDG_STATE_HOME: join(scene.store, 'state'),
      },
    )
    t.equal(await state.ended, 2, 'no watermark stands in a store')
  },
)

row('A11', 'a command beside stdout gets the events too (KS-72)', {}, async (t, scene) => {
  const file = join(scene.home, 'ran')
  scene.newest(complete(5))
  const producer = scene.start([...NF, ...STDOUT, '--exec', `touch ${file}`])
  await scene.until('stdout', () => producer.stdout.includes('"armed"'))
  await scene.until('the command', () => existsSync(file))
  t.equal(await producer.stop(), 0, producer.stderr)
  t.same(said(producer.stderr, 'flag_ignored'), [])
})

row('CL-12 idle', 'a limit of tries without a command is a warning', {}, async (t, scene) => {
  scene.newest(complete(5))
  const producer = scene.start([...NF, '--max-attempts', '3'])
  await scene.tells('armed(5)')
  t.equal(await producer.stop(), 0, producer.stderr)
  t.match(said(producer.stderr, 'flag_ignored'), [{ msg: /--max-attempts has no effect without --exec/ }])
})

row(
  'KS-73',
  'a sink that never began takes the head, and later ones go on',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4, 5))
    const first = scene.start(NF)
    await scene.tells('new 5')
    await first.stop()
    scene.clear()
    scene.newest(complete(4, 5, 6))
    const second = scene.start([...NF, ...STDOUT])
    await scene.until('6 is announced', () => second.stdout.includes('"id": 6'))
    await second.stop()
    t.match(said(second.stderr, 'sink_started'), [{ passed_over: 3 }], 'armed, armed and 5')
    t.same(told(parsed(second.stdout)), ['armed(5)', 'new 6'])
    scene.clear()
    scene.newest(complete(4, 5, 6, 7))
    const third = scene.start(NF)
    await scene.tells('new 7')
    await third.stop()
    const fourth = scene.start([...NF, ...STDOUT])
    await scene.until(
      '7 is announced',
      () => fourth.stdout.includes('"armed", "source": "kijito-inbox"') && fourth.stdout.includes('"id": 7'),
    )
    await fourth.stop()
    t.same(told(parsed(fourth.stdout)).slice(0, 2), ['armed(6)', 'new 7'], 'what it was not there for')
    t.same(said(fourth.stderr, 'sink_started'), [])
  },
)

row(
  'J3',
  'a closed pipe stops neither the journal nor the service (KS-72)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4))
    const first = scene.start([...NF, ...STDOUT])
    await scene.until('it is armed', () => first.stdout.includes('"armed"'))
    first.child.stdout.destroy()
    scene.clear()
    scene.newest(complete(4, 5, 6))
    await scene.tells('new 6')
    await scene.until('it is said', () => said(first.stderr, 'sink_failing').length > 0)
    await scene.polls(2)
    t.equal(said(first.stderr, 'sink_failing').length, 1)
    first.signal('SIGTERM')
    t.equal(await first.ended, 0)
    const second = scene.start([...NF, ...STDOUT])
    await scene.until('the rest is announced', () => mail(wholeLines(second.stdout)).includes(6))
    t.same(mail(parsed(second.stdout)), [5, 6], 'in order, from where it broke')
  },
)

row(
  'J3 stalled',
  'a reader that does not read delays no other (KS-72)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4))
    const producer = scene.start([...NF, ...STDOUT, '--content-chars', '9000'])
    await scene.until('it is armed', () => producer.stdout.includes('"armed"'))
    producer.child.stdout.pause()
    for (let n = 0; n < 40; n++) scene.send('argus', 'river', { content: 'x'.repeat(9000), id: 10 + n })
    scene.clear()
    await scene.tells('new 49')
    await scene.polls(2)
    producer.signal('SIGTERM')
    producer.child.on('exit', () => producer.child.stdout.resume())
    t.equal(await producer.ended, 0, 'it ends all the same')
    const second = scene.start([...NF, ...STDOUT])
    await scene.until('the rest is announced', () => mail(wholeLines(second.stdout)).includes(49))
    const ids = new Set([...mail(wholeLines(producer.stdout)), ...mail(parsed(second.stdout))])
    t.same(
      [...ids],
      Array.from({ length: 40 }, (_, n) => 10 + n),
      'nothing is missing, and all is in order',
    )
  },
)

row(
  'KS-72 killed',
  'a consumer that dies inside a line loses nothing',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4, 5, 6))
    const producer = scene.start([...NF, ...STDOUT])
    // It takes a few bytes of the first line and is gone.
    const reader = spawn('head', ['-c', '100'], { stdio: ['pipe', 'pipe', 'ignore'] })
    producer.child.stdout.pipe(reader.stdin)
    reader.stdin.on('error', () => producer.child.stdout.destroy())
    reader.stdout.once('data', () => reader.kill('SIGKILL'))
    await scene.tells('new 6')
    await producer.stop()
    const second = scene.start([...NF, ...STDOUT])
    const ids = (): number[] => [...mail(wholeLines(producer.stdout)), ...mail(wholeLines(second.stdout))]
    await scene.until('it is armed', () => second.stdout.includes('"armed"') && ids().includes(6))
    t.same([...new Set(ids())], [5, 6], 'what it did not take is there for the next one')
  },
)

row(
  'KS-72 kill',
  'a service that is killed tells all of it again in order',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4, 5, 6, 7))
    const first = scene.start([...NF, ...STDOUT])
    await scene.until('something is announced', () => first.stdout.includes('"id": 5'))
    first.signal('SIGKILL')
    await first.ended
    const second = scene.start([...NF, ...STDOUT])
    const ids = (): number[] => [...mail(wholeLines(first.stdout)), ...mail(wholeLines(second.stdout))]
    await scene.until('it is armed', () => second.stdout.includes('"armed"') && ids().includes(7))
    t.same([...new Set(ids())], [5, 6, 7])
  },
)

row(
  'KS-76',
  'heartbeats come from the process that prints them',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4))
    const producer = scene.start([...NF, ...STDOUT, '--heartbeat', '1'])
    const beats = (): ReturnType<typeof parsed> =>
      wholeLines(producer.stdout).filter(({ event }) => event === 'heartbeat')
    await scene.tells('armed(4)')
    // A heartbeat before the first poll has no cursor yet.
    await scene.until('it beats twice', () => beats().length >= 2 && beats().at(-1)?.['cursor'] === 4)
    const [first] = beats()
    t.match(first, {
      persona: 'argus',
      wake_class: 'liveness',
      event_id: /^argus:heartbeat:[0-9a-f]{16}-1$/,
    })
    t.equal(new Set(beats().map(({ ts }) => ts)).size, beats().length)
    t.same(scene.story(), ['armed(4)'], 'the journal knows nothing of them')
  },
)
