import { availableParallelism, loadavg } from 'node:os'
import t from 'tap'
import { isSoak, Prng, seedsToRun } from '../kit/prng.js'
import { type Counts, noCounts, runCampaign } from './campaign.js'
import { killAll } from './child.js'

/** How many writers die; half of them in each of two campaigns that run side by side. */
const KILLS = isSoak() ? 3000 : 320

/** From the death of a writer to the first receipt of the next. */
const RESTART_MS_MAX = 2000

t.setTimeout(isSoak() ? 1_800_000 : 600_000)
t.teardown(killAll)

/** A new seed each time, so that runs add up; `KIM_SEED` takes the choices of an earlier one again. */
const [seed = 1] = seedsToRun(1, Date.now() % 0x1_0000_0000)

function say(counts: Counts): string {
  const { kills, killsInOpen, reopened, receipts, records, deduped, refused, takeovers, verified } = counts
  return [
    `${kills} kills (${killsInOpen} of them before the store was open), ${reopened} reopenings`,
    `${receipts} receipts for ${records} records, ${deduped} records answered from their keys`,
    `${refused} turned away with 75, ${takeovers} took over at once, ${verified} verified and counted`,
  ].join('; ')
}

t.test(
  'kill - nothing acknowledged is lost and nothing stands twice, whenever the writer dies, CO-12',
  async t => {
    const counts = noCounts()
    let load = 0
    const look = setInterval(() => {
      load = Math.max(load, loadavg()[0] ?? 0)
    }, 1000)
    t.teardown(() => clearInterval(look))
    const first = new Prng(seed)
    const lanes = [first, new Prng(first.u32())].map(prng =>
      runCampaign({ prng, kills: KILLS / 2, killsPerStore: 40, killsPerVerify: 8 }, counts),
    )
    const ended = await Promise.allSettled(lanes)
    const problems = ended.flatMap(lane => (lane.status === 'fulfilled' ? lane.value : [String(lane.reason)]))
    t.strictSame(problems, [], `KIM_SEED=${seed}`)
    t.ok(counts.kills >= 300 && counts.receipts > counts.kills, 'enough was killed, and enough was appended')
    t.ok(counts.refused > 0 && counts.takeovers > 0 && counts.deduped > 0, 'every kind of round took place')
    t.comment(`KIM_SEED=${seed}: ${say(counts)}`)

    const times = counts.restartMs.sort((a, b) => a - b)
    const [p50 = Number.NaN, max = Number.NaN] = [times[times.length >> 1], times.at(-1)]
    const isLoaded = load > 2 * availableParallelism()
    t.comment(
      `${times.length} restarts: from kill to receipt p50 ${p50.toFixed()} ms, max ${max.toFixed()} ms` +
        `${isLoaded ? `; the machine is loaded (${load.toFixed(1)}), so the median is held to the limit` : ''}`,
    )
    t.ok((isLoaded ? p50 : max) <= RESTART_MS_MAX, `kill and restart appends within ${RESTART_MS_MAX} ms`)
  },
)
