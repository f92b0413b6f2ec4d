import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { complete, NF, row, type Scene } from '../../kit/kijito/index.js'
import { mail, parsed } from './lines.js'

const kimTail = fileURLToPath(new URL('../../../../tail/bin/kim-tail.js', import.meta.url))

/** Leaves a state file of the older monitor, which had told up to 4; gives its path. */
function stateFile(scene: Scene, persona: string, file: string = persona): string {
  const { protocol, hostname, port } = new URL(scene.url)
  const identity = [protocol.slice(0, -1), hostname, Number(port), '/api/inbox', [['persona', persona]]]
  const path = join(scene.home, `hive.${file}.json`)
  writeFileSync(path, JSON.stringify({ identity, cursor: 4, state: 'UP', consecutive_failures: 0 }))
  return path
}

async function imported(
  scene: Scene,
  ...flags: readonly string[]
): Promise<{ code: unknown; out: string; err: string }> {
  const run = scene.run(['import', '--store', scene.store, ...flags])
  return { code: await run.ended, out: run.stdout, err: run.stderr }
}

/** What an advised command prints up to the head: the ids of the mail among it. */
function heardBy(scene: Scene, command: string): number[] {
  const here = command.replace(/^kim-tail /, `'${process.execPath}' '${kimTail}' `).replace(' -f ', ' ')
  const env = { ...process.env, HOME: scene.home, XDG_STATE_HOME: join(scene.home, 'state') }
  return mail(parsed(execFileSync('sh', ['-c', here], { env, encoding: 'utf8', stdio: 'pipe' })))
}

/** The commands that an import names in the place of what follows. */
function advised(out: string): string[] {
  return [...out.matchAll(/to replace the reader of this file: (.*)\n/g)].map(([, command]) => command ?? '')
}

row(
  'KS-88 one file',
  'of all inboxes is named once, with ways on that are right as they are typed',
  {},
  async (t, scene) => {
    const events = join(scene.home, "all of it's.ndjson")
    writeFileSync(events, '', { mode: 0o600 })
    const states = ['argus', 'river'].flatMap(name => ['--state-file', stateFile(scene, name)])
    const { code, out } = await imported(scene, ...states, '--events-file', events)
    t.equal(code, 0)
    const quoted = events.replaceAll("'", `'\\''`)
    t.ok(out.includes(`  to keep the file: install the service with --events-file '${quoted}'\n`), out)
    const [command = '', ...more] = advised(out)
    t.match([command, more], [/ --all-personas -f -o monitor --consumer all-inboxes --start earliest$/, []])
    scene.newest(complete(3, 4, 6))
    scene.start(NF)
    await scene.tells('new 6')
    t.same(heardBy(scene, command), [6], 'what came before it was started, and nothing that was told')
    t.same(heardBy(scene, command), [], 'and once')
  },
)

row(
  'KS-88 twice',
  'a second import before the first run advises what the first did, and one after it nothing that tells twice',
  {},
  async (t, scene) => {
    const template = join(scene.home, '{persona}.jsonl')
    writeFileSync(join(scene.home, 'argus.jsonl'), '', { mode: 0o600 })
    const flags = ['--state-file', stateFile(scene, 'argus'), '--events-file-template', template]
    const [first = ''] = advised((await imported(scene, ...flags)).out)
    const [second = ''] = advised((await imported(scene, ...flags)).out)
    t.match(first, / --start earliest$/)
    t.equal(second, first)
    scene.newest(complete(3, 4, 6))
    const producer = scene.start(NF)
    await scene.tells('new 6')
    t.equal(await producer.stop(), 0)
    const [third = ''] = advised((await imported(scene, ...flags, '--dry-run')).out)
    t.equal(third, first.replace(' --start earliest', ''))
    t.same(heardBy(scene, second), [6])
  },
)

row(
  'KS-88 follow',
  'what takes the place of a follower resumes, whatever the persona is called',
  {},
  async (t, scene) => {
    const name = 'a,r"gus é'
    const template = join(scene.home, '{persona}.jsonl')
    writeFileSync(join(scene.home, 'a_r_gus_é.jsonl'), '', { mode: 0o600 })
    const flags = ['--state-file', stateFile(scene, name, 'a_r_gus_é'), '--events-file-template', template]
    const { code, out, err } = await imported(scene, ...flags)
    t.equal(code, 0, err)
    const [command = ''] = advised(out)
    t.match(command, / --consumer inbox-[0-9a-f]{8} --start earliest$/)
    scene.rule({ on: { endpoint: 'inbox', persona: name }, effect: [complete(4, 6)] })
    scene.start([
      '--no-fast-path',
      '--persona',
      name.replace(',', '\\,'),
      '--poll-seconds',
      '1',
      '--wait',
      '0',
    ])
    await scene.until('6 stands', () =>
      scene.records().some(record => record.item_type === 'message' && /\b6$/.test(record.item_id ?? '')),
    )
    t.same(heardBy(scene, command), [6])
    t.same(heardBy(scene, command), [])
    const [again = ''] = advised((await imported(scene, ...flags)).out)
    t.notMatch(again, /--start/, 'a second import may come after a run that told it')
  },
)

row('KS-88 flags', 'of event files are judged as run judges them', {}, async (t, scene) => {
  const state = ['--state-file', stateFile(scene, 'argus')]
  const both = [
    '--events-file',
    join(scene.home, 'a'),
    '--events-file-template',
    join(scene.home, '{persona}'),
  ]
  const wrong: readonly (readonly [flags: readonly string[], why: RegExp])[] = [
    [both, /exclude each other/],
    [
      ['--events-file-template', join(scene.home, 'a')],
      /must hold \{persona\}\n.*use --events-file for one file\n/,
    ],
    [['--events-file', join(scene.home, '{persona}')], /--events-file must not hold \{persona\}/],
  ]
  for (const [flags, why] of wrong) {
    const { code, err, out } = await imported(scene, ...state, ...flags)
    t.match([code, err, out], [2, why, ''], flags.join(' '))
  }
})

row('KS-88 cap', 'is reported before the first run, where something was taken over', {}, async (t, scene) => {
  const state = ['--state-file', stateFile(scene, 'argus')]
  const cap = /\nif more than 50 messages wait in an inbox .* none is announced; .*--max-replay N\n$/
  t.match((await imported(scene, ...state)).out, cap)
  t.notMatch((await imported(scene, ...state)).out, /--max-replay/, 'a second import takes nothing over')
})
