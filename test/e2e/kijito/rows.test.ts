import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

/** How many rows each chapter of the table has; one was put in between. */
const CHAPTERS = { A: 21, B: 14, C: 10, D: 15, E: 9, F: 21, G: 35, H: 11, I: 19, J: 11, K: 20, M: 8, N: 7 }
const BETWEEN = ['I13b']
/** Rows that say nothing to this producer, at most. */
const NOT_APPLICABLE_MAX = 30

const sources = fileURLToPath(new URL('../../../e2e/kijito/', import.meta.url))
const text = (file: string): string => readFileSync(join(sources, file), 'utf8')

const rows = text('rows.md')
  .split('\n')
  .map(line => /^\| ([A-Z]\d+b?) \| (.+) \| (.+) \|$/.exec(line))
  .filter(match => match !== null)
  .map(([, id = '', about = '', here = '']) => ({ id, about, here }))

t.test('rows - each id stands once, and none is left out', async t => {
  const ids = Object.entries(CHAPTERS).flatMap(([chapter, count]) =>
    Array.from({ length: count }, (_, at) => `${chapter}${at + 1}`),
  )
  t.same(rows.map(({ id }) => id).sort(), [...ids, ...BETWEEN].sort())
})

t.test('rows - say what became of them, by a clause or a reason', async t => {
  const odd = rows.filter(
    ({ here }) => !/^(covered|translated: (KS|JF)-\d+|(apart|not applicable): \S)/.test(here),
  )
  t.same(odd, [])
  t.ok(rows.filter(({ here }) => here.startsWith('not applicable')).length <= NOT_APPLICABLE_MAX)
})

t.test('rows - of the self-test each have a test with its id beside these', async t => {
  const tests = text('../self-test.test.ts')
  const wanted = rows
    .filter(({ here }) => here.startsWith('apart: kim-producer self-test'))
    .map(({ id }) => id)
  t.equal(wanted.length, 6)
  t.same(
    wanted.filter(id => !new RegExp(`'self-test - ${id} `).test(tests)),
    [],
  )
})

t.test('rows - that are tested here have a test, and no test has another id', async t => {
  const tests = readdirSync(sources).filter(file => file.endsWith('.test.ts') && file !== 'rows.test.ts')
  const titled = new Set(tests.flatMap(file => text(file).match(/(?<=')[A-N]\d+b?(?=')/g) ?? []))
  const promised = rows.filter(({ here }) => /^(covered|translated)/.test(here)).map(({ id }) => id)
  t.same([...titled].sort(), promised.sort())
  t.comment(`rows: ${rows.length} in all, ${promised.length} of them tested here`)
})
