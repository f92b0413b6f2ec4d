import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { SEED } from '../incident/seed.js'
import { commandsOf, DOCS, readPage, retold, type } from '../incident/walk-through.js'
import { objections } from '../kit/index.js'

const main = join(dirname(fileURLToPath(import.meta.url)), '..', 'incident', 'main.js')
const home = mkdtempSync(join(tmpdir(), 'kim-incident-test-'))
t.teardown(() => rmSync(home, { recursive: true, force: true }))

function make(...args: string[]): { code: number | null; out: string; err: string } {
  const env = { ...process.env, TMPDIR: home }
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', env })
  return { code: status, out: stdout, err: stderr }
}

/** Every file below a directory, by its path, and what it holds. */
function hashes(directory: string): Record<string, string> {
  const all: Record<string, string> = {}
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    all[relative(directory, path)] = createHash('sha256').update(readFileSync(path)).digest('hex')
  }
  return all
}

const walk = join(home, 'walk')
const store = join(walk, 'incident')
mkdirSync(walk)
const made = make('--out', store)

t.test('incident - is a whole store that its judge has nothing against', async t => {
  t.equal(made.code, 0, made.err)
  t.match(made.out, /^wrote .*incident: \d+ records from 2026-06-10T10:58:00.000Z to 2026-06-10T18:30:/)
  t.equal(made.err, '', 'no progress without a terminal')
  t.same(await objections(join(store, 'events')), [])
  t.equal(statSync(store).mode & 0o777, 0o700)
})

t.test('incident - the same seed gives the same bytes, another seed others', async t => {
  const again = make('--json')
  const facts = JSON.parse(again.out) as { ok: boolean; store: string; seed: number; head_seq: number }
  t.match(facts, { ok: true, seed: SEED })
  t.ok(facts.store.startsWith(home), 'a temporary directory, which it names')
  const files = hashes(store)
  t.ok(Object.keys(files).length > 4)
  t.same(hashes(facts.store), files)
  const other = make('--seed', '8', '--out', join(home, 'other'))
  t.equal(other.code, 0, other.err)
  t.notSame(hashes(join(home, 'other')), files)
  t.same(await objections(join(home, 'other', 'events')), [])
})

t.test(
  'incident - holds an outage, a host that slept and a persona that answers nothing, whatever the seed',
  async t => {
    for (const seed of [SEED, 8, 9]) {
      const store = join(home, `kinds-${seed}`)
      make('--seed', String(seed), '--out', store)
      const timeline = 'kim-replay timeline -o json --redact none --out kinds.json --events'
      type(`${timeline} ${store}/events`, home)
      const { spans } = JSON.parse(readFileSync(join(home, 'kinds.json'), 'utf8')) as {
        spans: { kind: string; label: string; from: number; to: number }[]
      }
      const longest = (kind: string): number =>
        Math.max(0, ...spans.filter(span => span.kind === kind).map(({ from, to }) => (to - from) / 60_000))
      t.ok(longest('outage') > 10, `seed ${seed}: an outage of ${longest('outage')} minutes`)
      t.ok(longest('suspended') > 120, `seed ${seed}: asleep for ${longest('suspended')} minutes`)
      t.ok(
        spans.some(({ kind, label }) => kind === 'alert' && /^urgent-unanswered: loom/.test(label)),
        `seed ${seed}: loom does not answer`,
      )
    }
  },
)

t.test('incident - a directory that is not empty is left as it is', async t => {
  const full = join(home, 'full')
  mkdirSync(full)
  writeFileSync(join(full, 'mine.txt'), 'mine')
  const { code, err } = make('--out', full)
  t.equal(code, 2)
  t.match(err, /is not empty\n {2}nothing was written/)
  t.same(readdirSync(full), ['mine.txt'])
  const file = make('--out', join(full, 'mine.txt'))
  t.match([file.code, file.err], [2, /mine\.txt is not a directory/])
  t.equal(readFileSync(join(full, 'mine.txt'), 'utf8'), 'mine')
  t.match(make('--help').out, /--seed[\s\S]*--json/)
})

t.test('walk-through - each command prints what the page says it prints', async t => {
  const page = readPage()
  const told = commandsOf(page)
  const outputs = told.map(({ command, output }) => {
    const printed = type(command, walk)
    t.equal(printed, output, command)
    return printed
  })
  t.equal(retold(page, outputs), page, 'to be renewed by: npm run incident:docs')
  for (const name of [
    'at',
    'diff',
    'explain',
    'find',
    'timeline',
    'bundle',
    'verify',
    'digest',
    'stats',
    'play',
  ])
    t.ok(
      told.some(({ command }) => command.includes(`kim-replay ${name} `)),
      `${name} is used`,
    )
  t.equal(retold(page, outputs.with(0, 'something else\n')) === page, false, 'and a difference would be seen')
})

t.test('replay page - each of its commands about an incident prints something', async t => {
  const page = readFileSync(join(DOCS, 'replay.md'), 'utf8')
  const block = /^npm run incident [^\n]*\n((?:kim-(?:replay|tail) [^\n]*\n)+)```$/m.exec(page)?.[1] ?? ''
  const commands = block.split('\n').filter(line => line !== '')
  t.ok(commands.length >= 10, `${commands.length} commands`)
  for (const command of commands) {
    const printed = type(`(${command.replace(/\s#.*/, '')}) && echo ended well`, walk)
    t.match(printed, /ended well\n$/, command)
    t.ok(printed.length > 'ended well\n'.length, command)
  }
})

t.test('walk-through - its pictures are there, and small', async t => {
  const pictures = [...readPage().matchAll(/\]\((incident-\w+\.png)\)/g)].map(([, name = '']) => name)
  t.ok(pictures.length >= 3)
  for (const name of pictures) {
    t.ok(existsSync(join(DOCS, name)), name)
    t.ok(statSync(join(DOCS, name)).size < 150_000, `${name} is small`)
  }
})
