import { readFileSync } from 'node:fs'
import t from 'tap'
import { bites, type Suite, safeguardsOf, suites } from './index.js'

const names = Object.keys(suites) as Suite[]

t.test('bites - every safeguard has a suite that notices its absence', async t => {
  for (const [safeguard, named] of Object.entries(bites)) t.ok(named.length > 0, safeguard)
})

t.test('bites - every suite has a safeguard it must not miss', async t => {
  for (const suite of names) t.ok(safeguardsOf(suite).length > 0, suite)
})

t.test('bites - each suite shows that it bites where the table says', async t => {
  for (const suite of names) {
    // Compiled tests stand in test/dist-test/<folder>.
    const text = readFileSync(new URL(`../../${suites[suite]}`, import.meta.url), 'utf8')
    const listed = (name: string): boolean => text.includes(`safeguardsOf('${suite}')`) || text.includes(name)
    for (const safeguard of safeguardsOf(suite)) t.ok(listed(safeguard), `${suites[suite]}: ${safeguard}`)
  }
})
