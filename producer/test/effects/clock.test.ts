import * as os from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '@kim/producer/internal'
import t from 'tap'

t.test('clock - the boot clock is the one of the machine', async t => {
  // The machine's own is exact to 10 ms, and a busy machine lets time pass between the two readings.
  for (let n = 0; n < 20; n++) {
    const before = os.uptime() * 1000
    const read = systemClock.bootMs?.() ?? Number.NaN
    const after = os.uptime() * 1000
    t.ok(read >= before - 30 && read <= after + 30, `${before} <= ${read} <= ${after}`)
    await sleep(5)
  }
})

t.test(
  'clock - the boot clock never stands still, and never steps back by more than it is exact to',
  async t => {
    const first = systemClock.bootMs?.() ?? Number.NaN
    await sleep(60)
    const second = systemClock.bootMs?.() ?? Number.NaN
    t.ok(second - first >= 30, `${first}, then ${second}`)
  },
)
