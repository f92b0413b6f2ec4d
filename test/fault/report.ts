import type { Test } from 'tap'
import { enumerate, type Scenario } from './enumerate.js'

/** One test a scenario, and one that says how much was gone through in all. */
export function enumerateAll(t: Test, scenarios: readonly Scenario[], clauses: string): void {
  let total = { runs: 0, cases: 0, disks: 0 }
  for (const scenario of scenarios) {
    t.test(`fault - ${scenario.name} (${clauses})`, async t => {
      const { calls, runs, cases, disks, violations } = await enumerate(scenario)
      t.same(violations, [])
      t.ok(calls > 0 && runs > calls && cases >= runs, 'every call was failed in several ways')
      t.comment(`${scenario.name}: ${calls} calls, ${runs} faults, ${cases} cases, ${disks} different disks`)
      total = { runs: total.runs + runs, cases: total.cases + cases, disks: total.disks + disks }
    })
  }
  t.test('fault - the whole', async t => {
    t.comment(`in all ${total.runs} faults, ${total.cases} cases, ${total.disks} different disks`)
    t.ok(total.cases > 0)
  })
}
