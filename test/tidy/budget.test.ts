import t from 'tap'
import { sources, textOf } from './sources.js'

/** How many lines of code each package and all of them may have, and how many are aimed at. */
const budgets = JSON.parse(textOf('test/tidy/budgets.json')) as {
  readonly packages: Readonly<Record<string, number>>
  readonly total: number
  readonly target: number
  /** The same of every source below a folder `test`. */
  readonly tests: number
  readonly testsTarget: number
}

/** Lines of a source that hold code: no blank ones, no comments. */
function codeLines(text: string): number {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '')
  return code.split('\n').filter(line => line.trim() !== '' && !line.trim().startsWith('//')).length
}

t.test('budget - no package has more lines of code than it may', async t => {
  let total = 0
  for (const [folder, budget] of Object.entries(budgets.packages)) {
    const files = sources(`${folder}/src/`).filter(file => !file.includes('/src/generated/'))
    const lines = files.reduce((sum, file) => sum + codeLines(textOf(file)), 0)
    total += lines
    t.comment(`${folder}: ${lines} lines of code in ${files.length} files, ${budget} allowed`)
    t.ok(lines <= budget, `${folder} has ${lines} lines of code, ${budget} allowed`)
  }
  t.comment(`all: ${total} lines of code, ${budgets.total} allowed, ${budgets.target} aimed at`)
  t.ok(total <= budgets.total, `all packages have ${total} lines of code, ${budgets.total} allowed`)
})

/** Scripts and examples, without their tests and the generators of the vectors. */
const BESIDE_MAX = 3100

t.test('budget - scripts and examples have no more lines of code than they may', async t => {
  const files = sources('scripts/src/', 'examples/').filter(file => !/\/(test|vectors)\//.test(file))
  const lines = files.reduce((sum, file) => sum + codeLines(textOf(file)), 0)
  t.ok(files.length > 50)
  t.comment(`scripts and examples: ${lines} lines of code in ${files.length} files, ${BESIDE_MAX} allowed`)
  t.ok(lines <= BESIDE_MAX, `scripts and examples have ${lines} lines of code, ${BESIDE_MAX} allowed`)
})

t.test('budget - the tests have no more lines of code than they may', async t => {
  const files = sources('').filter(file => /(^|\/)test\//.test(file))
  const lines = files.reduce((sum, file) => sum + codeLines(textOf(file)), 0)
  const { tests, testsTarget } = budgets
  t.comment(
    `tests: ${lines} lines of code in ${files.length} files, ${tests} allowed, ${testsTarget} aimed at`,
  )
  t.ok(lines <= tests, `the tests have ${lines} lines of code, ${tests} allowed`)
})

t.test('budget - a package without one is noticed', async t => {
  const folders = new Set(sources('').flatMap(file => /^([\w-]+)\/src\//.exec(file)?.[1] ?? []))
  folders.delete('scripts')
  t.same([...folders].sort(), Object.keys(budgets.packages).sort())
})
