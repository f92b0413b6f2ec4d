import { mock } from 'node:test'
import t from 'tap'
import { runExec } from '../dist/exec-retry.js'

t.test('exec - a command has 10 s', async t => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const running = runExec('sleep 2', { PATH: process.env['PATH'] ?? '' }, new AbortController().signal)
  mock.timers.tick(10_000)
  t.same(await running, { kind: 'refused', why: 'took longer than 10 s' })
})
