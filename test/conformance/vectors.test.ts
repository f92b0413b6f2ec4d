import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { homeOf } from '../kit/home.js'
import { loadVectors, repositoryRoot, vectorsDir } from './vectors.js'

/** Paths of the files below a folder, relative to it. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort()
}

const generate = (out: string): string =>
  execFileSync(process.execPath, [join(repositoryRoot, 'scripts/dist/gen-vectors.js'), '--out', out], {
    encoding: 'utf8',
    stdio: 'pipe',
  })

/** For `JSON.parse`: each object with its keys sorted. */
const sortedKeys = (_: string, value: unknown): unknown =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value

const textOf = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8')

t.test('generator - writes the committed tree, no file more, none less, none other (CO-10)', async t => {
  const out = homeOf(t)
  t.match(generate(out), / changed$/m)
  const files = filesBelow(vectorsDir)
  t.same(filesBelow(out), files, 'the same files')
  const unlike = files.filter(
    file => !readFileSync(join(out, file)).equals(readFileSync(join(vectorsDir, file))),
  )
  t.same(unlike, [], 'the same bytes')
  t.match(generate(out), /; 0 changed\n$/, 'a second run changes nothing')
})

t.test('generator - removes what nothing declares, and touches no other folder', async t => {
  const out = homeOf(t)
  const stray = join(out, 'stray')
  writeFileSync(stray, '')
  t.throws(() => generate(out), 'a folder that holds other things is refused')
  rmSync(stray)
  generate(out)
  mkdirSync(join(out, 'gone/events'), { recursive: true })
  writeFileSync(join(out, 'gone/events/seg-00000001.jsonl'), '')
  t.match(generate(out), /; 1 changed\n$/)
  t.notOk(readdirSync(out).includes('gone'), 'a vector that is no longer declared goes with its folder')
})

t.test('vectors - are small and name no machine', async t => {
  let total = 0
  for (const file of filesBelow(vectorsDir)) {
    const content = readFileSync(join(vectorsDir, file))
    total += content.length
    if (content.length > 100_000) t.fail(`${file} is large`)
    if (/\/(home|Users|tmp)\//.test(content.toString('latin1'))) t.fail(`${file} names a path`)
  }
  t.ok(total < 1_000_000, `${total} bytes`)
})

t.test('vectors - hold the files of CO-9 and no other, keys sorted', async t => {
  const odd = filesBelow(vectorsDir).filter(
    file => !/^[\w-]+\/(events\/.+|cursor\.json|expect\.json)$/.test(file) && file !== 'README.md',
  )
  t.same(odd, [])
  for (const { folder, name, expect } of loadVectors()) {
    const text = readFileSync(join(folder, 'expect.json'), 'utf8')
    t.same(JSON.parse(text, sortedKeys), expect, name)
    t.equal(text, `${JSON.stringify(JSON.parse(text, sortedKeys), null, 2)}\n`, `${name}: keys are sorted`)
  }
})

const names = loadVectors().map(({ name }) => name)

/** The cells of every row of a page's tables. */
const rowsOf = (page: string): string[][] =>
  textOf(page)
    .split('\n')
    .filter(line => line.startsWith('| ') && !line.startsWith('|---'))
    .map(line => line.split(' | ').map(cell => cell.replace(/^\| | \|$/g, '')))

/** Row labels of recovery.md: a letter and a number in the first cell. */
const rowLabels = rowsOf('spec/recovery.md')
  .map(([label = '']) => label)
  .filter(label => /^[A-Z]\d+$/.test(label))

const readme = rowsOf('spec/vectors/README.md')
const listed = readme.filter(([first = '']) => first.startsWith('`'))
const excused = readme.filter(([first = '']) => rowLabels.includes(first))

t.test('README - names every vector once, and no other', async t => {
  t.same(listed.map(([name = '']) => name.replaceAll('`', '')).sort(), names)
  t.ok(listed.every(([, shows = '', cites = '']) => shows !== '' && cites !== ''))
})

t.test('README - every row of recovery.md has a vector, or a reason why it has none (RC-2)', async t => {
  const cited = new Set(listed.flatMap(([, , cites = '']) => cites.split(' ')))
  const reasons = new Map(excused.map(([row = '', why = '']) => [row, why]))
  t.ok(rowLabels.length > 50, `${rowLabels.length} rows`)
  for (const row of rowLabels) {
    t.ok(cited.has(row) !== (reasons.get(row) ?? '') > '', `${row}: ${reasons.get(row) ?? 'has a vector'}`)
  }
})

t.test('README - cites rows and clauses that exist', async t => {
  const pages = readdirSync(join(repositoryRoot, 'spec')).filter(name => name.endsWith('.md'))
  const clauses = pages.flatMap(page =>
    [...textOf(`spec/${page}`).matchAll(/\*\*([A-Z]+-\d+)\*\*/g)].map(([, id]) => id),
  )
  const known = new Set([...clauses, ...rowLabels])
  const unknown = listed.flatMap(([name, , cites = '']) =>
    cites
      .split(' ')
      .filter(id => !known.has(id))
      .map(id => `${name} ${id}`),
  )
  t.same(unknown, [])
})
