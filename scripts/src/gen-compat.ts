import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { RunningProgram, repositoryRoot, runProgramToEnd } from './compat/running-program.js'

// Writes spec/compat/<version>: what a release leaves on disk, made by running its own commands (CO-14).
//   node scripts/dist/gen-compat.js VERSION
// Once, at the release. Folders are added, never edited, so a folder that exists is refused.

/** Neutral, because sink ledgers name the paths of their files. */
const home = '/tmp/kim-compat'
const source = 'http://localhost:47474'
const personas = ['river', 'loom', 'Loom', 'west wind']
const producer = 'producer/bin/kim-producer.js'
const kimTail = 'tail/bin/kim-tail.js'
const store = join(home, 'store')
const events = join(store, 'events')
const files = join(home, 'files')
const gate = join(home, 'gate')
const client = join(home, 'state/kim/clients/status-bar')

interface Line {
  readonly seq: number
  readonly agent: string
  readonly action: string
  readonly item_type: string
  readonly item_id: string
  readonly event?: string
}

/** The seqs of journal lines, read as plainly as can be: what readers of the product say is compared with it. */
function linesOf(folder: string): Line[] {
  return readdirSync(folder)
    .filter(name => name.startsWith('seg-'))
    .sort()
    .flatMap(name => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter(line => line.startsWith('{') && line.endsWith('}'))
    .map(line => JSON.parse(line) as Line)
}

/** The live segments only: enough to wait for something that was appended a moment ago. */
function holds(item: string, event?: string): boolean {
  return (
    existsSync(events) &&
    linesOf(events).some(line => line.item_id === item && (event === undefined || line.event === event))
  )
}

function tail(...args: readonly string[]): { readonly stdout: string; readonly stderr: string } {
  return runProgramToEnd(home, kimTail, ['--store', store, ...args])
}

async function makeStore(): Promise<unknown> {
  const kijito = new RunningProgram(home, 'examples/kijito-sim/dist/main.js', [
    ...['--port', '47474', '--dialect', 'local', '--stdin', '--persona', personas.join(',')],
  ])
  await kijito.until('the server', () => kijito.stdout.includes('"ready":true'))
  let asked = 0
  const tell = async (command: object): Promise<unknown> => {
    asked += 1
    const id = asked
    kijito.say(JSON.stringify({ ...command, id }))
    const reply = (): string | undefined =>
      kijito.stdout.split('\n').find(line => line.includes(`"id":${id},"ok"`))
    await kijito.until(`reply ${id}`, () => reply() !== undefined)
    return (JSON.parse(reply() as string) as { result?: unknown }).result
  }
  let mail = 0
  const send = async (to: string, content: string, more: object = {}): Promise<string> => {
    mail += 1
    await tell({ do: 'send', to, from: 'argus', content, message_id: mail, ...more })
    return `${to}/${mail}`
  }
  const start = (...flags: readonly string[]): RunningProgram =>
    new RunningProgram(home, producer, [
      ...[
        'run',
        '--store',
        store,
        '--url',
        source,
        '--dialect',
        'local',
        '--allow-loopback',
        '--all-personas',
      ],
      ...['--poll-seconds', '1', '--wait', '0', '--resync-every', '2', '--alert-after', '2'],
      ...['--segment-bytes', '16384', '--retain-read', '4', '--rediscover-every', '2', ...flags],
    ])
  const round = async (from: number, to: number, running: RunningProgram): Promise<void> => {
    for (let turn = from; turn < to; turn += 1) {
      let last = ''
      for (const persona of personas)
        last = await send(persona, `turn ${turn}: ${'lorem ipsum '.repeat(turn % 7)}`)
      await running.until(last, () => holds(last))
      if (turn % 3 === 2) await tell({ do: 'read', persona: 'river' })
    }
  }

  // A file per persona, one of them barred; lines on stdout; an outage; mail that is too long for a line.
  mkdirSync(join(files, 'west_wind.jsonl'), { recursive: true })
  await send('river', 'before first contact')
  const first = start('--emit', 'stdout-jsonl', '--events-file-template', join(files, '{persona}.jsonl'))
  await first.until('armed', () => personas.every(persona => holds(persona, 'armed')))
  await round(0, 8, first)
  const long = await send('river', 'long '.repeat(13_500), { urgent: true })
  await first.until(long, () => holds(long))
  await tell({ do: 'refuse' })
  await first.until('an outage', () => holds('river/unreachable'))
  await tell({ do: 'open' })
  await first.until('its end', () => linesOf(events).some(({ event }) => event === 'recovered'))
  const odd = await send('west wind', 'a \u202e b \u0007 c \ud83d\ude00')
  await first.until(odd, () => holds(odd))
  await first.stop()
  const redacted = linesOf(events).findLast(
    ({ agent, item_type }) => agent === 'loom' && item_type === 'message',
  )?.seq
  runProgramToEnd(home, producer, [
    'journal',
    'redact',
    '--store',
    store,
    '--seq',
    String(redacted),
    '--reason',
    'asked',
  ])

  // A command that refuses mail of loom while there is no gate: the lane that all inboxes share is held.
  const command = `test "$KIJITOMON_PERSONA" != loom || test "$KIJITOMON_EVENT" != new || test -e ${gate}`
  const exec = ['--emit', 'exec-per-event', '--exec', command, '--events-file', join(files, 'all.jsonl')]
  const second = start(...exec)
  writeFileSync(gate, '')
  await round(8, 14, second)
  rmSync(gate)
  await round(14, 22, second)
  await second.until('a held lane', () => second.stderr.includes('sink_failing'))
  await second.stop('SIGKILL')
  const newest = readdirSync(events)
    .filter(name => name.startsWith('seg-'))
    .sort()
    .at(-1) as string
  appendFileSync(join(events, newest), '{"action":"create","agent":"river","ent')

  const third = start('--no-gc', ...exec)
  await round(22, 34, third)
  await third.stop()
  runProgramToEnd(home, producer, ['journal', 'gc', '--gzip', '--store', store])
  runProgramToEnd(home, producer, ['journal', 'checkpoint', '--store', store])
  await embed()
  const fourth = start(...exec)
  await round(34, 38, fourth)
  await fourth.stop()
  runProgramToEnd(home, producer, ['journal', 'verify', '--store', store])
  const inboxes: [string, unknown][] = []
  for (const persona of personas) inboxes.push([persona, await tell({ do: 'inbox', persona })])
  await kijito.stop()
  return Object.fromEntries(inboxes)
}

/** Lets a program that embeds the SDK store its cursor. */
async function embed(): Promise<void> {
  const embedded = new RunningProgram(home, 'examples/tail-to-stdout/dist/main.js', [events, client])
  await embedded.until(
    'a cursor',
    () => existsSync(client) && readdirSync(client).some(name => name.endsWith('.json')),
  )
  await embedded.stop()
}

/** Positions as the commands leave them: consumers, tokens and a cursor file. */
async function makePlaces(): Promise<unknown> {
  const seqs = tail('-n', 'all', '--all-records', '-o', 'json')
    .stdout.trimEnd()
    .split('\n')
    .map(line => (JSON.parse(line) as Line).seq)
  const head = seqs.at(-1) as number
  const counts = [1, Math.floor(head / 3), Math.floor(head / 2), head - 7, head]
  const tokens = counts.map(count => {
    const { stdout, stderr } = tail(
      '-n',
      'all',
      '--all-records',
      '-o',
      'json',
      '--show-cursor',
      '-c',
      String(count),
    )
    const seq = (JSON.parse(stdout.trimEnd().split('\n').at(-1) as string) as Line).seq
    const token = /^cursor: (k1\.\S+)$/m.exec(stderr)?.[1]
    if (token === undefined) throw new Error(`no token at ${seq}: ${stderr}`)
    return { token, seq }
  })
  const cursorFile = join(home, 'state', 'cursor-file')
  tail('--cursor-file', cursorFile, '--all-records')
  for (const [name, count] of [
    ['early', 3],
    ['late', 60],
  ] as const) {
    tail('--consumer', name, '--start', 'earliest', '--all-records', '-o', 'json', '-c', String(count))
  }
  tail('--consumer', 'acked', '--start', 'earliest', '--commit', 'ack', '-o', 'json')
  runProgramToEnd(home, kimTail, ['ack', '--store', store, '--consumer', 'acked', '--seq', String(head - 20)])
  tail('--consumer', 'head', '--start', 'new')
  runProgramToEnd(
    home,
    kimTail,
    [
      ...['--store', store, '--consumer', 'held', '--start', 'earliest', '-p', 'loom'],
      ...['--exec', 'test "$KIJITOMON_EVENT" != new || test "$KIJITOMON_ID" -lt 40'],
    ],
    [1],
  )
  return tokens
}

/** What was announced, as the event lines of the release say it, each with the seq of its record. */
function announced(): readonly unknown[] {
  const rows = tail('-n', 'all', '-o', 'json', '--fields', 'seq,persona,id,event', '--utc').stdout
  return rows
    .trimEnd()
    .split('\n')
    .map(row => JSON.parse(row) as { event?: string | null; seq: number; persona: string; id: string })
    .filter(({ event }) => event !== undefined && event !== null)
    .map(({ seq, persona, id }) => [seq, persona, id])
}

/** JSON with one member of the top level, or one element, on a line. */
function listed(value: unknown): string {
  const lines = (value as unknown[]).map(one => JSON.stringify(one))
  return `[\n${lines.join(',\n')}\n]\n`
}

const version = process.argv[2] ?? ''
const out = join(repositoryRoot, 'spec/compat', version)
if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error('usage: gen-compat.js VERSION')
if (existsSync(out)) throw new Error(`${out} exists; what a release left is never edited`)
mkdirSync(home)
try {
  const inboxes = await makeStore()
  const tokens = await makePlaces()
  const announcedEvents = announced()
  mkdirSync(out, { recursive: true })
  cpSync(events, join(out, 'events'), { recursive: true })
  cpSync(join(home, 'state'), join(out, 'state'), { recursive: true })
  // What barred the way of a lane: the next life of the sink finds nothing there.
  rmSync(join(files, 'west_wind.jsonl'), { recursive: true })
  cpSync(files, join(out, 'files'), { recursive: true })
  writeFileSync(join(out, 'inboxes.json'), `${JSON.stringify(inboxes)}\n`)
  writeFileSync(join(out, 'tokens.json'), listed(tokens))
  writeFileSync(join(out, 'announced.json'), listed(announcedEvents))
  const cursor = readdirSync(client).find(name => name.endsWith('.json')) as string
  cpSync(join(client, cursor), join(out, 'cursor.json'))
  const expect = runProgramToEnd(home, 'replay/bin/kim-replay.js', [
    ...['digest', '--full', '--events', events, '--cursor', join(out, 'cursor.json')],
  ])
  writeFileSync(join(out, 'expect.json'), expect.stdout)
} finally {
  rmSync(home, { recursive: true, force: true })
}
