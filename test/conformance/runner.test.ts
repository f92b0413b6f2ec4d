import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { homeOf } from '../kit/home.js'
import { loadVectors, repositoryRoot } from './vectors.js'

const here = join(repositoryRoot, 'test/dist-test/conformance')
const naive = [process.execPath, join(here, 'naive/main.js'), '--rules', join(repositoryRoot, 'manifest')]

/** The runner's verdict on a command, over the vectors whose names hold a text. */
function run(only: string, command: readonly string[], options: readonly string[] = ['--json']) {
  const args = [join(here, 'runner.js'), ...options, '--only', only, '--', ...command]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return {
    status,
    stdout,
    stderr,
    verdict: options.includes('--json') && stdout !== '' ? JSON.parse(stdout) : {},
  }
}

/** A command that runs a script of ours. */
function script(t: Test, text: string): string[] {
  const folder = homeOf(t)
  const file = join(folder, 'implementation.mjs')
  writeFileSync(file, text)
  return [process.execPath, file]
}

const cursorVectors = loadVectors().filter(({ name }) => name.includes('cursor-at-')).length

t.test('runner - passes an implementation that agrees, cursor and cold start included (OB-61)', async t => {
  const { status, verdict } = run('cursor-at-', naive, ['--json', '--omit', 'verify_exit'])
  t.same(verdict, { vectors: cursorVectors, agree: cursorVectors, differ: 0, failures: [] })
  t.ok(cursorVectors >= 2)
  t.equal(status, 0)
})

t.test('runner - fails an implementation that leaves a member out', async t => {
  const { status, verdict } = run('no-directory', naive)
  t.equal(status, 1)
  t.match(verdict, { vectors: 1, agree: 0, differ: 1 })
  t.match(verdict.failures, [
    { mode: '--full', differences: [{ member: 'verify_exit', expected: '4', actual: 'nothing' }] },
  ])
  t.equal(verdict.failures.length, 1, 'a cold start owes no verify_exit')
})

t.test('runner - tells people which vector differs in what, and counts', async t => {
  const { status, stdout } = run('no-directory', naive, [])
  t.equal(status, 1)
  t.match(stdout, /^FAIL no-directory\n {4}--full: not as expected\n {6}verify_exit: expected 4\n/)
  t.match(stdout, /1 vectors, twice each: 0 agree, 1 differ\n$/)
})

t.test('runner - fails an implementation that ends badly, says nothing or says too much', async t => {
  for (const [text, problem] of [
    ["process.stderr.write('cannot'); process.exitCode = 3", /^exit 3: cannot$/],
    ['', /^no JSON object on stdout/],
    ["process.stdout.write('null')", /^no object$/],
    ["process.stdout.write('{}')", /^not as expected$/],
    ["process.kill(process.pid, 'SIGKILL')", /^exit -1: ended by SIGKILL/],
  ] as const) {
    const { status, verdict } = run('torn-one-byte', script(t, text))
    t.equal(status, 1)
    t.match(verdict.failures[0].problem, problem)
  }
  t.equal(run('torn-one-byte', [join(repositoryRoot, 'nowhere')]).status, 1, 'a command that is not there')
})

t.test('runner - fails an implementation that changes the directory it was shown', async t => {
  const writes = `
    import { chmodSync, writeFileSync } from 'node:fs'
    const events = process.argv[process.argv.indexOf('--events') + 1]
    chmodSync(events, 0o700)
    writeFileSync(events + '/cursor', '')
  `
  const { status, verdict } = run('empty-segment-after-another', script(t, writes))
  t.equal(status, 1)
  t.match(verdict.failures.at(-1), { mode: 'both', problem: 'the directory was changed' })
})

t.test('runner - refuses a selection of nothing and a missing command', async t => {
  t.equal(run('there is no such vector', naive).status, 2)
  t.equal(run('', []).status, 2)
})
