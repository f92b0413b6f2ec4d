import t from 'tap'
import { type Safeguard, safeguardsOf } from '../kit/index.js'
import { enumerate } from './enumerate.js'
import { scenarios } from './scenarios.js'

/** The one scenario that is enough to notice each. */
const telling: Partial<Record<Safeguard, string>> = {
  skipFsync: 'commit',
  receiptBeforeSync: 'commit',
  skipDirectorySync: 'roll',
  skipLengthCheck: 'commit after somebody else wrote to the segment',
  skipKeyLookup: 'commit',
  skipLossPins: 'commit of several pages',
}

for (const safeguard of safeguardsOf('fault')) {
  t.test(`fault bites - ${safeguard}`, async t => {
    const scenario = scenarios.find(({ name }) => name === telling[safeguard])
    if (scenario === undefined) throw new Error(`no scenario for ${safeguard}`)
    const options = { ...scenario.options, switches: { [safeguard]: true } }
    const { violations } = await enumerate({ ...scenario, options }, 1)
    t.not(violations.length, 0, 'it is noticed')
    t.comment(violations[0] ?? '')
  })
}
