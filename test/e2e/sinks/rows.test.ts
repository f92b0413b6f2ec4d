import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const here = fileURLToPath(new URL('../../../e2e/sinks/', import.meta.url))
const table = fileURLToPath(new URL('../../../e2e/kijito/rows.md', import.meta.url))

/** Rows that the table of cases leaves to these tests, and one that a faulty disk has to show. */
const OURS = /^\| (\w+) \| .+ \| apart: (sinks|import of a state file)/
const ELSEWHERE = ['J11']

t.test('rows - of sinks and of the import each have a test here', async t => {
  const rows = readFileSync(table, 'utf8').split('\n')
  const wanted = rows.flatMap(line => OURS.exec(line)?.[1] ?? [])
  const titles = readdirSync(here)
    .filter(file => file.endsWith('.test.ts'))
    .flatMap(file => readFileSync(`${here}${file}`, 'utf8').match(/(?<=row\(\s*')[^']+/g) ?? [])
  const shown = new Set(titles.flatMap(title => title.split(' ')))
  t.ok(wanted.length > 30, `${wanted.length} rows`)
  t.same(
    wanted.filter(id => !shown.has(id) && !ELSEWHERE.includes(id)),
    [],
  )
})
