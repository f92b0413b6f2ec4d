// Far more mail than a window shows, at once.
import t from 'tap'
import { isSoak } from '../../kit/index.js'
import { Trial } from '../../kit/kijito/index.js'

const MESSAGES = 5000
/** Rows a page holds: how many pages a burst is, and how many polls its walks take. */
const PAGE_ROWS = isSoak() ? [3, 7, 50] : [20]

t.setTimeout(900_000)

for (const pageRows of PAGE_ROWS) {
  t.test(
    `burst - ${MESSAGES} messages at once come in through windows of ${pageRows} (KS-23 to KS-26)`,
    async t => {
      const trial = await Trial.open(t, {
        personas: ['argus', 'loom'],
        settings: { pageRows, rowOrder: 'shuffled' },
        flags: ['--poll-seconds', '1', '--wait', '5', '--segment-bytes', '262144'],
      })
      for (let n = 0; n < 30; n++) await trial.send('argus')
      trial.start()
      await trial.met()
      await trial.send('argus', MESSAGES)
      await trial.send('loom')
      // What comes in meanwhile lies above the hole that is being walked.
      await trial.until('a pin', () => trial.told('alert', 'bounded-window') > 0)
      await trial.send('argus', 3 * pageRows)
      await trial.judge()
      t.equal(trial.told('alert', 'bounded-window'), 1, 'the gap was announced once')
    },
  )
}
