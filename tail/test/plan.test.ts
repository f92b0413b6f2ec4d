import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type Input, locateStore, parseInput, VERSION } from '@kim/cli-kit'
import { formatCursorToken } from '@kim/manifest'
import t from 'tap'
import { FIELD_NAMES } from '../dist/flags.js'
import { noPersona, refuseInside, requireHistory } from '../dist/journal.js'
import { type Plan, parseRate, planOf } from '../dist/plan.js'
import { tailProgram } from '../dist/program.js'

const nowMs = Date.parse('2026-06-10T14:03:22Z')
const [tail] = tailProgram.commands

function input(argv: readonly string[], env: Record<string, string> = {}): Input {
  if (tail === undefined) throw new Error('no command')
  return parseInput(tailProgram, tail, argv, env)
}

function plan(argv: readonly string[], env: Record<string, string> = {}, isTerminal = false): Plan {
  return planOf(input(argv, env), { env, isTerminal, nowMs })
}

t.test('program - its version is what the rest believes', async t => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  t.equal(VERSION, manifest.version)
})

t.test('mode - the flag, the variable, the terminal, else json', async t => {
  t.equal(plan([]).mode, 'json')
  t.equal(plan([], {}, true).mode, 'short')
  t.equal(plan([], { KIM_AGENT: '1' }, true).mode, 'agent')
  t.equal(plan([], { KIM_AGENT: '0' }).mode, 'json')
  t.equal(plan(['-o', 'cat'], { KIM_AGENT: '1' }).mode, 'cat')
})

t.test('position - CL-21 ten entries unless a position is given', async t => {
  const of = (...argv: string[]): Plan['position'] => plan(argv).position
  const all = Number.POSITIVE_INFINITY
  t.same(of(), { kind: 'last', lines: 10 })
  t.same(of('-f'), { kind: 'last', lines: 10 })
  t.same(of('-f', '-n', '0'), { kind: 'last', lines: 0 })
  t.same(of('-n', 'all'), { kind: 'last', lines: all })
  t.same(of('--wait'), { kind: 'last', lines: 0 }, 'a wait is for what comes')
  t.same(of('-U', '1h'), { kind: 'last', lines: all })
  t.same(of('--to-seq', '5'), { kind: 'last', lines: all })
  t.same(of('-S', '1h'), { kind: 'since', ms: nowMs - 3_600_000, lines: all })
  t.same(of('-S', '1h', '-n', '3'), { kind: 'since', ms: nowMs - 3_600_000, lines: 3 })
  t.same(of('--after-seq', '7'), { kind: 'after', seq: 7, writer: null })
  t.same(of('--from-seq', '7'), { kind: 'after', seq: 6, writer: null })
  const token = formatCursorToken({ projectId: 'p', seq: 7, writer: 'w' })
  t.same(of('--after-cursor', token), { kind: 'after', projectId: 'p', seq: 7, writer: 'w' })
  t.same(of('--cursor', token), { kind: 'after', projectId: 'p', seq: 6, writer: null })
  t.same(of('--after-id', '246', '-p', 'river'), { kind: 'after-message', id: 246 })
  t.match(of('--after-id', 'river:new:246'), { kind: 'after-event', ref: { kind: 'message', id: 246 } })
  t.same(of('--consumer', 'c'), { kind: 'consumer', name: 'c' })
  t.same(of('--cursor-file', 'f'), { kind: 'cursor-file', path: 'f' })
})

t.test('selection - personas, and what a mode prints of itself', async t => {
  const of = (argv: string[], env: Record<string, string> = {}): Plan['selection'] =>
    plan(argv, env).selection
  t.same(of(['-p', 'a,b', '-p', 'a']).personas, ['a', 'b'])
  t.same(of([], { KIM_PERSONA: 'a' }).personas, ['a'])
  t.same(of(['--all-personas'], { KIM_PERSONA: 'a' }).personas, [])
  t.equal(of([]).records, 'entries')
  t.equal(of(['--all-records']).records, 'all')
  t.equal(of(['-o', 'monitor']).records, 'news')
  t.equal(of(['-o', 'agent']).records, 'entries')
  t.equal(of(['-o', 'agent', '-f']).records, 'news', 'nothing wakes for old mail')
  t.equal(of(['-o', 'agent', '-f', '--all-records']).records, 'all')
})

t.test('defaults - of agents, monitors and waits', async t => {
  t.equal(plan(['-f', '-o', 'agent']).exitWithParent, true)
  t.equal(plan(['-f']).exitWithParent, false)
  t.equal(plan(['-o', 'monitor']).bodyChars, 220)
  t.equal(plan(['-o', 'monitor', '--no-body']).bodyChars, undefined)
  t.equal(plan(['-o', 'cat', '--no-body']).bodyChars, 0)
  t.equal(plan(['-o', 'cat']).bodyChars, undefined)
  t.equal(plan([]).maxLine, 480)
  t.equal(
    plan([], { KIM_STORE: '/data/kim' }).journalFlag,
    '',
    'the variable is set for the next command too',
  )
  t.equal(plan(['--store', '/data/k m']).journalFlag, " --store '/data/k m'")
  t.equal(plan(['--events', '/data/events']).journalFlag, ' --events /data/events')
  t.match(plan(['--wait']), { follow: true, count: 1 })
  t.equal(plan(['-F']).follow, true)
})

t.test('plan - CL-32 how often an event is tried', async t => {
  const attempts = (...argv: string[]): unknown => plan(['--exec', 'x', '--consumer', 'c', ...argv]).exec
  t.same(attempts(), { command: 'x', maxAttempts: undefined })
  t.same(attempts('--max-attempts', '3'), { command: 'x', maxAttempts: 3 })
})

t.test('fields - CL-72 an unknown name is refused, with the closest one', async t => {
  const schema = new URL('../../manifest/schema/record.json', import.meta.url)
  const { properties } = JSON.parse(readFileSync(schema, 'utf8')) as { properties: object }
  const derived = ['id', 'type', 'persona', 'from', 'text', 'wake', 'nonce']
  t.same([...FIELD_NAMES].sort(), [...Object.keys(properties), ...derived].sort())
  t.same(plan(['--fields', `${FIELD_NAMES.join()},payload.x.y,clock.boot_ms`]).fields.slice(-2), [
    'payload.x.y',
    'clock.boot_ms',
  ])
  for (const template of ['', '{{x}} {seq}', '{{{payload.from}}}', '}}', '{'])
    t.equal(plan(['--template', template]).template, template)
  for (const [name, ...argv] of [
    ['txt', '--fields', 'seq,txt'],
    ['txt', '--fields', 'txt.x', '-o', 'short'],
    ['txt', '--template', '{{x}} {seq} {txt}'],
    ['txt', '--template', '{{{txt}}}'],
  ])
    t.throws(() => plan(argv), {
      code: 'usage',
      message: `"${name}"; did you mean text?`,
      hint: /payload\.X/,
    })
  for (const name of ['nothing.here', '__proto__.x', 'constructor', 'Seq', '.seq'])
    t.throws(() => plan(['--fields', name]), { code: 'usage', exitCode: 2 }, name)
})

t.test('bodies - CL-71 are cut where a text is printed, or given to a command', async t => {
  const exec = ['--exec', 'x', '--consumer', 'c']
  for (const mode of ['short', 'short-iso', 'cat', 'agent'])
    t.equal(plan(['-o', mode, '--body-chars', '3']).bodyChars, 3, mode)
  t.equal(plan(['--no-body'], {}, true).bodyChars, 0)
  t.equal(plan([...exec, '--body-chars', '3']).bodyChars, 3, 'whatever stdout is')
  t.equal(plan([...exec, '--no-body']).bodyChars, undefined)
  t.throws(() => plan(['--no-body']), { code: 'usage', message: /^-o json prints/ })
  t.throws(() => plan(['--no-body', '--fields', 'text'], {}, true), { message: /^--fields prints/ })
})

t.test('usage - what can never work is refused, with the way out', async t => {
  const refused: readonly (readonly string[])[] = [
    ['-p', 'a', '--all-personas'],
    ['--after-seq', '1', '--from-seq', '1'],
    ['--consumer', 'c', '-S', '1h'],
    ['--consumer', 'c', '-n', '5'],
    ['--no-tail'],
    ['--no-pager'],
    ['-n', 'many'],
    ['-S', 'soon'],
    ['-U', 'soon'],
    ['--cursor', 'k1.zz'],
    ['--after-id', '5'],
    ['--after-id', 'river'],
    ['--exec', 'x'],
    ['--exec', '', '--consumer', 'c'],
    ['--exec', ' ', '--consumer', 'c'],
    ['--exec', 'x', '--consumer', 'c', '--commit', 'ack'],
    ['--commit', 'ack'],
    ['--start', 'new'],
    ['--heartbeat', '1s'],
    ['--timeout', '1s'],
    ['--fields', 'seq', '--template', 'b'],
    ['--fields', 'seq', '-o', 'agent'],
    ['--no-body', '--body-chars', '3', '-o', 'cat'],
    ['--full', '--no-body', '-o', 'cat'],
    ['--full', '-o', 'agent'],
    ['-o', 'json', '--no-body'],
    ['-o', 'json-pretty', '--no-body'],
    ['-o', 'cloudevents', '--body-chars', '3'],
    ['--fields', 'text', '--no-body'],
    ['--template', '{text}', '--body-chars', '3'],
    ['-g', '('],
    ['--max-rate', '5'],
    ['--on-poison', 'hold'],
    ['status'],
    ['3'],
    ['--max-attempts', '3'],
    ['--exec', 'x', '--consumer', 'c', '--max-attempts', '0'],
  ]
  for (const argv of refused)
    t.throws(() => plan(argv), { code: 'usage', exitCode: 2, hint: /./ }, argv.join(' '))
  t.throws(() => plan(['statsu']), {
    message: /no command "statsu"; did you mean status\?/,
    hint: /^the commands are: show, status, ack,/,
  })
  for (const argv of [
    ['-f', 'status'],
    ['--store', 'x', 'status', '--check'],
    ['-f', 'show', '5'],
  ]) {
    t.throws(() => plan(argv), {
      message: /^the command "(status|show)" must come before the flags/,
      hint: /^kim-tail s\w+ …/,
    })
  }
  t.throws(() => plan(['cursors']), { message: /cursors needs a subcommand/, hint: /cursors ls/ })
  t.throws(() => plan(['-f', 'cursors']), { message: /cursors needs a subcommand/ })
  t.throws(() => plan(['cursors', 'lss']), {
    message: 'there is no command "cursors lss"; did you mean cursors ls?',
  })
})

t.test('store - the flag, the variable, the default', async t => {
  const home = { XDG_STATE_HOME: '/state' }
  t.same(locateStore(input([]), home), {
    eventsDir: '/state/kim/stores/default/events',
    storeDir: '/state/kim/stores/default',
  })
  t.same(locateStore(input([], { KIM_STORE: '/k' }), home), { eventsDir: '/k/events', storeDir: '/k' })
  t.same(locateStore(input(['--store', '/s'], { KIM_STORE: '/k' }), home), {
    eventsDir: '/s/events',
    storeDir: '/s',
  })
  t.same(locateStore(input(['--events', '/e'], { KIM_STORE: '/k' }), home), {
    eventsDir: '/e',
    storeDir: undefined,
  })
  t.throws(() => locateStore(input(['--events', '/e', '--store', '/s']), home), { code: 'usage' })
})

t.test('store - CL-10 nothing is written at or below what is read, links included', async t => {
  const root = t.testdir()
  const store = join(root, 'store')
  mkdirSync(join(store, 'events'), { recursive: true })
  symlinkSync(store, join(root, 'link'))
  const location = { eventsDir: join(store, 'events'), storeDir: store }
  for (const path of ['store', 'store/x', 'store/events/new/x', 'link/x', 'link/run/x', 'other/../store/x']) {
    t.throws(() => refuseInside(location, join(root, path), '--cursor-file'), { code: 'usage' }, path)
  }
  for (const path of ['x', 'storehouse/x', '..x']) refuseInside(location, join(root, path), '--cursor-file')
  t.throws(() => refuseInside({ eventsDir: store, storeDir: undefined }, join(store, 'x'), 'a cursor'), {
    code: 'usage',
    hint: /XDG_STATE_HOME/,
  })
  const noStore = { eventsDir: join(root, 'events'), storeDir: root }
  t.throws(() => refuseInside(noStore, join(root, 'x'), '--consumer'), { code: 'no_store' })
})

t.test('missing - a store or a persona that is not there, and the closest that is', async t => {
  const root = t.testdir()
  mkdirSync(join(root, 'default/events'), { recursive: true })
  const refuse = (eventsDir: string, storeDir: string | undefined, hint: RegExp): void => {
    t.throws(() => requireHistory({ eventsDir, storeDir }), { code: 'no_store', hint })
  }
  const refuseStore = (name: string, hint: RegExp): void =>
    refuse(join(root, name, 'events'), join(root, name), hint)
  refuseStore('defualt', /did you mean .*\/default\?/)
  refuseStore('elsewhere', /--store/)
  refuse(join(root, 'defualt'), undefined, /did you mean .*\/default\?/)
  refuse(join(root, 'default'), undefined, /this looks like a store; did you mean --events/)
  t.match(noPersona('rivr', ['loom', 'river']), {
    exitCode: 4,
    message: 'no persona "rivr"; did you mean river?',
    hint: 'known: loom, river',
  })
  t.match(noPersona('a\nb', []), { message: 'no persona "a\\nb"', hint: /no persona yet/ })
})

t.test('rate - what is none is refused', async t => {
  t.same(parseRate('10/1m'), { lines: 10, perMs: 60_000 })
  for (const text of ['', '10', '0/1s', '10/', '10/0s', 'x/1s'])
    t.throws(() => parseRate(text), { code: 'usage' }, text)
})
