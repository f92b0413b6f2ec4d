import { join } from 'node:path'
import t from 'tap'
import { LAUNCHERS, type Ran, root, run as runScript } from '../kit/commands.js'

const run = (...args: string[]): Ran => runScript(LAUNCHERS['kim-replay'], args)

function events(vector: string): string {
  return join(root, 'spec', 'vectors', vector, 'events')
}

t.test('digest - one line, whose digest is that of the full scan', async t => {
  const brief = JSON.parse(run('digest', '--events', events('inbox-story')).out) as Record<string, unknown>
  t.same(Object.keys(brief), ['digest', 'entities', 'head_seq'])
  const full = JSON.parse(run('digest', '--full', '--events', events('inbox-story')).out) as Record<
    string,
    unknown
  >
  t.equal(brief['digest'], full['digest'])
  t.equal(full['verify_exit'], 0)
})

t.test('verify - has the verdict as its exit code', async t => {
  t.equal(run('verify', '--events', events('inbox-story')).code, 0)
  t.equal(run('verify', '--events', events('hole-between-segments')).code, 5)
  t.equal(run('verify', '--events', events('garbage-in-our-journal')).code, 6)
  t.equal(run('verify', '--events', events('no-directory')).code, 4)
})

t.test('stats - counts, and says when there is nothing to count', async t => {
  t.match(JSON.parse(run('stats', '--json', '--events', events('inbox-story')).out), { malformed: 0 })
  const absent = run('stats', '--events', events('no-directory'))
  t.equal(absent.code, 4)
  t.match(absent.err, /there is no journal at/)
})

t.test('usage - contradictory flags and a cursor that is none are refused', async t => {
  t.equal(run('digest', '--full', '--cold', '--events', events('inbox-story')).code, 2)
  const cursor = run(
    'digest',
    '--cold',
    '--events',
    events('inbox-story'),
    '--cursor',
    join(root, 'README.md'),
  )
  t.equal(cursor.code, 2)
  t.match(cursor.err, /is not JSON/)
})

t.test('OB-61 digest - says of every vector what it states, twice', async t => {
  const runner = join(root, 'test', 'dist-test', 'conformance', 'runner.js')
  const args = ['--json', '--', process.execPath, LAUNCHERS['kim-replay'], 'digest']
  const { code, out } = runScript(runner, args)
  const verdict = JSON.parse(out) as { failures: unknown[]; agree: number }
  t.same(verdict.failures, [])
  t.equal(code, 0)
  t.ok(verdict.agree >= 70)
  t.comment(`${verdict.agree} vectors, twice each, through the command`)
})
