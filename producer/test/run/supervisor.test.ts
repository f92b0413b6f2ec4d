import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { RunEntry } from '../../dist/run/run-log.js'
import { type Notify, systemdSupervisor } from '../../dist/run/systemd-notify.js'

t.test('supervisor - without a socket nothing is sent', async t => {
  t.equal(
    systemdSupervisor({}, () => undefined),
    undefined,
  )
})

t.test('supervisor - ready, alive three times in the watchdog time at most, stopping', async t => {
  const told: string[] = []
  const notify: Notify = words => void told.push(words.join(' '))
  const env = { NOTIFY_SOCKET: '/run/x', WATCHDOG_USEC: '120000000' }
  const supervisor = systemdSupervisor(env, () => undefined, notify)
  supervisor?.ready('at work')
  for (let nowMs = 0; nowMs <= 120_000; nowMs += 10_000) supervisor?.alive(nowMs)
  supervisor?.stopping()
  t.same(told, ['READY=1 STATUS=at work', ...Array(4).fill('WATCHDOG=1'), 'STOPPING=1'])
})

t.test('supervisor - without a watchdog only the beginning and the end are told', async t => {
  const told: string[] = []
  const supervisor = systemdSupervisor(
    { NOTIFY_SOCKET: '/run/x' },
    () => undefined,
    words => void told.push(words[0] ?? ''),
  )
  supervisor?.ready('at work')
  supervisor?.alive(1)
  supervisor?.stopping()
  t.same(told, ['READY=1', 'STOPPING=1'])
})

t.test('supervisor - one that cannot be told is said once', async t => {
  const notes: RunEntry[] = []
  const supervisor = systemdSupervisor(
    { NOTIFY_SOCKET: '/run/x' },
    note => void notes.push(note),
    (_, failed) => failed('no such program'),
  )
  supervisor?.ready('at work')
  supervisor?.stopping()
  t.match(notes, [{ code: 'notify_failed', message: /no such program/, hint: /install-service/ }])
})

t.test('supervisor - KS-84 what tells systemd is not told the token', async t => {
  const dir = t.testdir()
  const program = join(dir, 'systemd-notify')
  const told = join(dir, 'told')
  writeFileSync(program, `#!/bin/sh\n/usr/bin/env > '${told}.new'; /bin/mv '${told}.new' '${told}'\n`)
  chmodSync(program, 0o755)
  const env = { PATH: dir, NOTIFY_SOCKET: '/run/x', KIM_TOKEN: 'secret', KIJITOMON_TOKEN: 'secret' }
  systemdSupervisor(env, note => t.fail(note.message))?.stopping()
  while (!existsSync(told)) await new Promise(resolve => setTimeout(resolve, 10))
  const seen = readFileSync(told, 'utf8')
  t.match(seen, 'NOTIFY_SOCKET=/run/x\n')
  t.notMatch(seen, 'secret')
})
