import t from 'tap'
import { Prng } from '../kit/prng.js'
import { noCounts, runCampaign } from './campaign.js'
import { killAll } from './child.js'

t.setTimeout(300_000)
t.teardown(killAll)

// What a kill cannot show: `skipFsync`, `skipDirectorySync` and `receiptBeforeSync`. A killed process leaves the
// page cache as it is, so what was written is there for the next one, synced or not. The enumerated faults, whose
// disk forgets what was not synced, catch these.
t.test('bite - kills show that a key is not looked up: a retry after a crash stands twice', async t => {
  const counts = noCounts()
  const plan = { kills: 40, killsPerStore: 20, killsPerVerify: 4, switches: { skipKeyLookup: true } }
  const problems = await runCampaign({ ...plan, prng: new Prng(7) }, counts)
  t.ok(
    problems.some(problem => /acknowledged as \d+, then as \d+|stands twice/.test(problem)),
    'what stands twice is found',
  )
  t.comment(`found after ${counts.kills} kills: ${problems.at(-1)}`)
})
