// Personas whose names want to be something else.
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { Trial } from '../../kit/kijito/index.js'
import { tail } from '../kim-tail-process.js'

const NAMES = [
  '../../etc/x',
  'constructor',
  '__proto__',
  'toString',
  '🦊🚀',
  'e\u0301',
  '\u00e9',
  'argus',
  'Argus',
  'a/b',
  '..',
  '.',
  'CON',
  '-f',
  '$(id)',
  'two\nlines',
  '\u202egnp',
  'x'.repeat(300),
]

t.setTimeout(600_000)

t.test('names - each is a name like any other, and none becomes a path (KS-68, KS-70)', async t => {
  const trial = await Trial.open(t, {
    personas: NAMES,
    settings: { pageRows: 4 },
    flags: ['--poll-seconds', '1', '--wait', '5', '--emit', 'stdout-jsonl'],
  })
  const out = join(trial.home, 'deep', 'er', 'out')
  const files = (): string[] =>
    readdirSync(trial.home, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
  for (const name of NAMES) await trial.send(name, 2)
  const template = ['--events-file-template', join(out, '{persona}.jsonl')]
  const first = trial.start(...template)
  await trial.met()
  for (const name of NAMES) await trial.send(name, 11)
  await trial.caughtUp()
  first.signal('SIGKILL')
  await first.ended
  for (const name of NAMES) await trial.send(name, 11)
  const second = trial.start(...template)
  await trial.judge()

  const below = [trial.store, join(trial.home, 'state')]
  const elsewhere = files().filter(path => !below.some(directory => path.startsWith(`${directory}/`)))
  t.same(
    elsewhere.filter(path => dirname(path) !== out),
    [],
    'every other file stands where it was told to',
  )
  t.equal(elsewhere.length, NAMES.length, 'there is one for each name')
  const lines = second.stdout.split('\n').filter(line => line !== '')
  t.ok(
    lines.every(line => typeof JSON.parse(line) === 'object'),
    'a line is a line',
  )
  for (const name of NAMES.filter(name => !name.includes(','))) {
    const shown = tail(trial.home, ['--store', trial.store, `--persona=${name}`, '-n', 'all', '-o', 'json'])
    const agents = shown.stdout
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line).agent)
    t.ok(
      agents.length >= 24 && agents.every(agent => agent === name),
      `kim-tail shows ${JSON.stringify(name).slice(0, 20)} alone: ${agents.length}`,
    )
  }
})
