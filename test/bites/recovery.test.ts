import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { TAIL_ROWS, type TailAction, type TailLabel } from '@kim/manifest'
import t from 'tap'

const root = fileURLToPath(new URL('../../../', import.meta.url))
/** Opens a store with each tail that a writer can find; the title of a test begins with the row of its tail. */
const SHOWN_BY = 'producer/dist-test/journal/tail.test.js'

/** A program that takes an action out of a row of table T before a writer reads it. */
function preload(label: TailLabel, action: TailAction): string {
  const table = new URL('../../../manifest/dist/tail-state.js', import.meta.url).href
  const change = `import { TAIL_ROWS } from ${JSON.stringify(table)}
    const row = TAIL_ROWS.find(({ label }) => label === ${JSON.stringify(label)})
    row.actions = row.actions.filter(action => action !== ${JSON.stringify(action)})`
  return `data:text/javascript,${encodeURIComponent(change)}`
}

/** The titles of the tests that fail in a process of their own, in which an action may be missing. */
async function failing(missing?: readonly [TailLabel, TailAction]): Promise<string[]> {
  const options = missing === undefined ? [] : ['--import', preload(...missing)]
  const child = spawn(process.execPath, [...options, join(root, SHOWN_BY)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  const titles = [...output.matchAll(/^not ok \d+ - (tail - .*?)(?: # time=.*)?$/gm)].map(
    ([, title = '']) => title,
  )
  return code === 0 || titles.length > 0 ? titles : [`exit ${code}`]
}

t.jobs = availableParallelism()

t.test('recovery - with the table as it is, the tests pass', { buffered: true }, async t => {
  t.same(await failing(), [])
})

for (const { label, actions } of TAIL_ROWS) {
  for (const action of actions) {
    t.test(`recovery - row ${label} without ${action} is noticed (RC-9)`, { buffered: true }, async t => {
      const titles = await failing([label, action])
      t.ok(
        titles.some(title => title.split(' ')[2] === label),
        `a test of ${label} fails, among ${JSON.stringify(titles)}`,
      )
    })
  }
}

t.test('recovery - every row but the one with nothing to do has an action', async t => {
  const idle = TAIL_ROWS.filter(({ actions }) => actions.length === 0).map(({ label }) => label)
  t.same(idle, ['T1'])
})
