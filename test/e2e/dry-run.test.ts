import {
  appendFileSync,
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { openJournal } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { LAUNCHERS, type Ran, run as runScript } from '../kit/commands.js'
import { mail } from '../kit/drafts.js'
import { homeOf } from '../kit/home.js'

const run = (...args: string[]): Ran => runScript(LAUNCHERS['kim-producer'], ['journal', ...args])

/** A store with several sealed segments and no gc yet. */
function makeStore(t: Test): string {
  const store = homeOf(t)
  const journal = openJournal({
    storeDir: store,
    source: 'http://localhost:7474',
    segmentBytes: 4000,
    gc: false,
  })
  for (let id = 1; id <= 60; id++) journal.append([mail('river', id)])
  while (journal.upkeep());
  journal.close()
  return store
}

function segments(store: string): string[] {
  return readdirSync(join(store, 'events'))
    .filter(name => name.startsWith('seg-'))
    .sort()
    .map(name => join(store, 'events', name))
}

/** Everything that a write of any kind to anything in the store would change. */
function traces(store: string): string[] {
  return ['.', ...readdirSync(store, { recursive: true, encoding: 'utf8' })].sort().map(name => {
    const { ctimeNs, ino, mode, mtimeNs, size } = lstatSync(join(store, name), { bigint: true })
    return [name, ino, mode, size, mtimeNs, ctimeNs].join(' ')
  })
}

const COMMANDS: readonly (readonly string[])[] = [
  ['checkpoint'],
  ['gc', '--gzip'],
  ['repair'],
  ['redact', '--seq', '5', '--reason', 'a key'],
]

/** What a store may be in need of when a command opens it. */
const STATES: readonly (readonly [what: string, make: (store: string) => void, opening: RegExp])[] = [
  ['a clean store', () => undefined, /"opening":\[\]/],
  [
    'a torn line at the end',
    store => appendFileSync(segments(store).at(-1) ?? '', '{"torn":'),
    /"opening":\[\{"what":"append","path":"events\/seg-\d+\.jsonl","bytes":\d+\}\]/,
  ],
  [
    'a temporary file',
    store => writeFileSync(join(store, 'events', '.seg-00000099.jsonl.tmp'), 'x'),
    /"what":"remove","path":"events\/\.seg-00000099\.jsonl\.tmp"/,
  ],
  [
    'files that others may read',
    store => {
      chmodSync(join(store, 'events'), 0o755)
      chmodSync(segments(store).at(-1) ?? '', 0o644)
    },
    /"what":"mode","path":"events"\},\{"what":"mode","path":"events\/seg-/,
  ],
  ['a lock file that is not there', store => rmSync(join(store, 'run', 'lock')), /"opening":\[\]/],
  [
    'a missing directory',
    store => rmSync(join(store, 'events', 'blobs'), { recursive: true }),
    /"what":"make","path":"events\/blobs"/,
  ],
]

for (const [what, make, opening] of STATES) {
  t.test(`CL-19 dry run - leaves no trace in ${what}, and says what the open would do`, async t => {
    const store = makeStore(t)
    make(store)
    const before = traces(store)
    for (const command of COMMANDS) {
      const { code, err, out } = run(...command, '--store', store, '--dry-run', '--json')
      t.equal(code, 0, `${command[0]}: ${err}`)
      t.match(out, opening, command.join(' '))
      t.same(traces(store), before, command.join(' '))
    }
    const text = run('gc', '--store', store, '--dry-run').out
    t.equal(/^opening the store would first:$/m.test(text), opening.source !== /"opening":\[\]/.source, text)
  })
}

t.test('CL-19 dry run - is refused while a writer holds the store', async t => {
  const store = makeStore(t)
  const journal = openJournal({ storeDir: store })
  for (const command of COMMANDS)
    t.equal(run(...command, '--store', store, '--dry-run').code, 75, command.join(' '))
  journal.close()
  t.equal(run('gc', '--store', store, '--dry-run').code, 0)
})

t.test('CL-19 repair - says beforehand what it then does, whichever segment is a link', async t => {
  for (const at of [0, 1, -1]) {
    const store = makeStore(t)
    const victim = segments(store).at(at) ?? ''
    renameSync(victim, join(store, 'elsewhere.jsonl'))
    symlinkSync(join(store, 'elsewhere.jsonl'), victim)
    const before = traces(store)
    const { dry_run, opening, ...dry } = JSON.parse(
      run('repair', '--store', store, '--dry-run', '--json').out,
    )
    t.same(traces(store), before)
    const real = run('repair', '--store', store, '--json')
    t.same(JSON.parse(real.out), { ...dry, dry_run: false })
    t.match(dry.irregular, [victim])
    t.equal(real.code, 0, real.err)
    t.equal(run('verify', '--store', store).code, 0)
  }
})

t.test('CL-52 repair - moves nothing where it cannot go on to the end', async t => {
  const store = makeStore(t)
  for (const path of segments(store)) {
    renameSync(path, join(store, 'elsewhere.jsonl'))
    symlinkSync(join(store, 'elsewhere.jsonl'), path)
  }
  const before = traces(store)
  for (const more of [['--dry-run'], []]) {
    const { code, err } = run('repair', '--store', store, ...more)
    t.not(code, 0)
    t.match(err, /nothing was changed/)
    t.same(traces(store), before)
  }
})

t.test('CL-52 repair - does not say repaired of what stays corrupt', async t => {
  const store = makeStore(t)
  const [first = ''] = segments(store)
  const bytes = readFileSync(first)
  bytes[bytes.indexOf('body 3')] = 0xff
  writeFileSync(first, bytes)
  const dry = run('repair', '--store', store, '--dry-run')
  t.equal(dry.code, 1)
  t.match(dry.out, /^would copy to quarantine\/ and note:\n/)
  t.match(dry.out, /not repairable; verify still reports: chain_broken × 1/)
  const real = run('repair', '--store', store)
  t.equal(real.code, 1)
  t.match(real.out, /^copied to quarantine\/ and noted:\n/)
  t.match(real.out, /chain_broken × 1/)
  const again = run('repair', '--store', store, '--json')
  t.equal(again.code, 1)
  t.match(JSON.parse(again.out), { left: { chain_broken: 1 }, lines: [] })
  t.match(run('repair', '--store', store).out, /^nothing that can be repaired\n/)
  t.equal(run('verify', '--store', store).code, 6)
})

t.test('CL-5 redact - of what the journal does not hold is 4, and the store stays as it is', async t => {
  const store = makeStore(t)
  for (const target of [
    ['--seq', '9999'],
    ['--entity', 'message', 'river/9999'],
  ]) {
    for (const more of [['--dry-run'], []]) {
      const { code, err } = run('redact', '--store', store, ...target, '--reason', 'x', ...more)
      t.equal(code, 4, err)
      t.match(err, /no record (with seq 9999|is about message river\/9999)/)
    }
  }
  t.equal(run('verify', '--store', store).code, 0)
})
