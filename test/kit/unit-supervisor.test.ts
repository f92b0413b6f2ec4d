import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { UnitSupervisor, words } from './unit-supervisor.js'

/** A unit whose program is a line of shell. */
function unit(script: string): string {
  const quoted = script.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('$', '$$$$')
  return [
    '[Service]',
    `ExecStart=/bin/sh -c "${quoted}"`,
    'Restart=on-failure',
    'RestartSec=0.01',
    'RestartPreventExitStatus=2 77',
    'UMask=0077',
  ].join('\n')
}

/** How the first lives of a unit ended: at most three, then it is stopped. */
async function ends(script: string): Promise<unknown[]> {
  const supervisor = new UnitSupervisor(unit(script), { PATH: process.env['PATH'] ?? '' })
  supervisor.start()
  while (supervisor.isActive && supervisor.lives.length < 3) await sleep(5)
  await supervisor.stop()
  return supervisor.lives.slice(0, 2).map(({ end }) => end)
}

t.test(
  'unit supervisor - starts again after a failure, and not after what the unit excepts or a clean end',
  async t => {
    t.same(await ends('exit 1'), [1, 1])
    t.same(await ends('exit 75'), [75, 75])
    t.same(await ends('kill -9 $$'), ['SIGKILL', 'SIGKILL'])
    t.same(await ends('exit 0'), [0])
    t.same(await ends('exit 2'), [2])
    t.same(await ends('exit 77'), [77])
    t.same(await ends('kill -TERM $$'), ['SIGTERM'], 'systemd takes it for a clean end')
  },
)

t.test('unit supervisor - takes a command line apart as systemd does', async t => {
  t.same(words('/bin/x "a b" "" "\\"" "\\\\" %%h $$HOME "x\\ny" plain'), [
    '/bin/x',
    'a b',
    '',
    '"',
    '\\',
    '%h',
    '$HOME',
    'x\ny',
    'plain',
  ])
})
