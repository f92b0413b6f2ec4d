import { existsSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { repositoryFiles, root, sources, textOf } from './sources.js'

const documents = repositoryFiles().filter(file => file.endsWith('.md'))

t.test('links - in documents lead to files that exist', async t => {
  const broken: string[] = []
  for (const file of documents) {
    for (const [, target = ''] of textOf(file).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(https?:|mailto:|#)/.test(target)) continue
      const path = normalize(join(dirname(file), target.split('#')[0] ?? ''))
      if (!existsSync(join(root, path))) broken.push(`${file}: ${target}`)
    }
  }
  t.same(broken, [])
})

t.test('scripts - that documents tell to run exist', async t => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> }
  const unknown: string[] = []
  let seen = 0
  for (const file of documents) {
    for (const [, name = ''] of textOf(file).matchAll(/npm run ([\w:-]+)/g)) {
      seen++
      if (scripts[name] === undefined) unknown.push(`${file}: npm run ${name}`)
    }
  }
  t.ok(seen > 0)
  t.same(unknown, [])
})

/** Clauses that no program can show. spec/README.md lists each with the reason. */
const advice = [...textOf('spec/README.md').matchAll(/^\| ([A-Z]{2}-\d+) \| \S/gm)].map(([, id = '']) => id)

const CLAUSE = /\b(JF|OB|RC|KS|CL|CP|CO)-\d+[a-z]?\b/g

/** A clause is defined where its id opens a bold run: `**JF-12**`. */
function definedClauses(): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const file of documents.filter(name => /^spec\/[a-z-]+\.md$/.test(name))) {
    for (const [, id = ''] of textOf(file).matchAll(/\*\*((?:JF|OB|RC|KS|CL|CP|CO)-\d+[a-z]?)\b/g)) {
      found.set(id, [...(found.get(id) ?? []), file])
    }
  }
  return found
}

t.test('clauses - each id is defined once', async t => {
  const defined = definedClauses()
  t.ok(defined.size > 0, `${defined.size} clauses`)
  t.same(
    [...defined].filter(([, files]) => files.length > 1).map(([id, files]) => `${id}: ${files.join(', ')}`),
    [],
  )
})

t.test('clauses - every one that a test, a source or a document cites exists', async t => {
  const defined = definedClauses()
  const dangling: string[] = []
  const cited = new Set<string>()
  for (const file of [...sources(''), ...documents].filter(name => name !== 'test/tidy/docs.test.ts')) {
    for (const [id] of textOf(file).matchAll(CLAUSE)) {
      // A vector is a test of every reader; its page says which clauses it shows.
      if (/(^|\/)test\/.*\.ts$/.test(file) || file === 'spec/vectors/README.md') cited.add(id)
      if (!defined.has(id)) dangling.push(`${file}: ${id}`)
    }
  }
  t.same(dangling, [])
  t.same(
    [...defined.keys()].filter(id => !cited.has(id)).sort(),
    advice.toSorted(),
    'a test names every clause but those that spec/README.md lists',
  )
  t.comment(`clauses: ${defined.size} defined, ${cited.size} cited by tests`)
})
