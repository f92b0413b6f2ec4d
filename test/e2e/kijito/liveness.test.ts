import { complete, NF, row } from '../../kit/kijito/index.js'
import { Following } from '../kim-tail-process.js'

const broken = { status: 503 }

row(
  'E1',
  'failures below the threshold are not announced (KS-49)',
  { standing: { cursor: 5 } },
  async (t, scene) => {
    scene.newest(complete(5), broken, broken, complete(5), broken, broken, complete(5, 6))
    scene.start([...NF, '--alert-after', '3'])
    await scene.tells('new 6')
    t.same(scene.story(), ['armed(5)', 'new 6'])
  },
)

row(
  'E2',
  'each outage is announced, and each end of one (KS-49)',
  { standing: { cursor: 5 } },
  async (t, scene) => {
    const good = complete(5)
    scene.newest(good, broken, broken, good, good, broken, broken, complete(5, 6))
    scene.start([...NF, '--alert-after', '2'])
    await scene.tells('new 6')
    const outage = ['alert unreachable', 'recovered']
    t.same(scene.story(), ['armed(5)', ...outage, ...outage, 'new 6'])
    t.match(scene.told('recovered'), { status: 'cleared' })
  },
)

const down = { cursor: 5, isDown: true, open: { unreachable: { consecutive_failures: 3, seconds: 3 } } }

row(
  'E3',
  'an outage that was announced before a restart is not announced again (KS-50)',
  { standing: down },
  async (t, scene) => {
    scene.newest(broken)
    scene.start([...NF, '--alert-after', '2'])
    await scene.polls(4)
    t.same(scene.story(), [])
  },
)

row('E4', 'its end is (KS-50)', { standing: down }, async (t, scene) => {
  scene.newest(complete(3, 5))
  scene.start(NF)
  await scene.tells('armed(5)')
  t.same(scene.story(), ['recovered', 'armed(5)'])
})

row(
  'E5',
  'failures below the threshold are not carried over a restart (KS-50)',
  { standing: { cursor: 5 } },
  async (t, scene) => {
    scene.newest(broken)
    // More failures than the threshold of the next life.
    const first = scene.start([...NF, '--alert-after', '100'])
    await scene.polls(4)
    await first.stop()
    t.same(scene.story(), [])
    scene.start([...NF, '--alert-after', '4'])
    await scene.tells('alert unreachable')
    t.match(scene.alert('unreachable'), { consecutive_failures: 4 })
  },
)

row(
  'E6',
  'a threshold that was lowered holds at once (KS-49)',
  { standing: { cursor: 5 } },
  async (t, scene) => {
    scene.newest(broken)
    const first = scene.start([...NF, '--alert-after', '100'])
    await scene.polls(2)
    await first.stop()
    scene.start([...NF, '--alert-after', '1'])
    await scene.tells('alert unreachable')
    await scene.polls(2)
    t.same(scene.story(), ['alert unreachable'])
  },
)

row(
  'E7',
  'a reader has its heartbeat whether or not the inbox is well (KS-76)',
  { standing: { cursor: 5 } },
  async (t, scene) => {
    scene.newest(complete(5))
    scene.start([...NF, '--alert-after', '2'])
    const flags = ['--store', scene.store, '-o', 'monitor', '-f', '--heartbeat', '1s']
    const reader = new Following(scene.home, flags)
    t.teardown(() => reader.child.kill())
    const beats = (): number => reader.lines.filter(line => line.includes('"event": "heartbeat"')).length
    await scene.until('two heartbeats', () => beats() >= 2)
    scene.clear()
    scene.newest(broken)
    await scene.tells('alert unreachable')
    const before = beats()
    await scene.until('two more', () => beats() >= before + 2)
    t.match(
      reader.lines.find(line => line.includes('heartbeat')),
      /"wake_class": "liveness"/,
    )
  },
)
