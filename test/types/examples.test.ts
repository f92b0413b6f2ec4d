import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { compileFiles, root } from './compile.js'

const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')

/** The examples of a page, each a module of its own. */
function examplesIn(page: string): string[] {
  return [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code)
}

/** What a door lets out. */
function publicNames(door: string): string[] {
  const lists = [...door.matchAll(/export (?:type )?\{([^}]*)\}/g)].map(([, list = '']) => list)
  return lists.flatMap(list => [...list.matchAll(/\b(?!type\b)\w+(?=\s*(?:,|$))/g)].map(([name]) => name))
}

/** Names that no example imports. One that is imported and not used does not compile. */
function withoutExample(names: readonly string[], examples: readonly string[]): string[] {
  const imports = examples.flatMap(code =>
    [...code.matchAll(/import (?:type )?\{([^}]*)\} from '@kim\/observer-sdk(?:\/[a-z]+)?'/g)].map(
      ([, list = '']) => list,
    ),
  )
  return names.filter(name => !imports.some(list => new RegExp(`\\b${name}\\b`).test(list)))
}

const examples = examplesIn(textOf('observer-sdk/README.md'))
const names = publicNames(textOf('observer-sdk/src/index.ts'))

t.test('examples - every public name of the SDK has one', async t => {
  t.ok(names.length > 25 && names.includes('openObserver') && names.includes('EntityView'), names.join(' '))
  t.same(withoutExample(names, examples), [])
  t.same(withoutExample(['openObserver', 'openStore'], examples), ['openStore'], 'one that has none is found')
  t.same(publicNames("export type { A, B } from 'x'\nexport { type C, d } from 'y'"), ['A', 'B', 'C', 'd'])
})

t.test('examples - the five tasks of the guide are the files that tests run', t => {
  const [section = ''] = /^## Five tasks\n.*?^## /ms.exec(textOf('observer-sdk/README.md')) ?? []
  const folder = 'examples/extension-host/src/tasks'
  const files = readdirSync(join(root, folder)).map(name => textOf(`${folder}/${name}`))
  t.equal(files.length, 5)
  t.same(examplesIn(section).sort(), files.sort())
  t.end()
})

t.test('examples - all of them compile, those of the front page too', async t => {
  const pages = [
    'README.md',
    'manifest/README.md',
    'monitor/README.md',
    'producer/README.md',
    'replay/README.md',
  ]
  const all = [...examples, ...pages.flatMap(page => examplesIn(textOf(page)))]
  t.ok(all.length >= 7)
  t.equal(await compileFiles(t, Object.fromEntries(all.map((code, at) => [`example-${at}.ts`, code]))), '')
  const unused = examples[0]?.replace('type Change', 'type Board, type Change') ?? ''
  t.match(await compileFiles(t, { 'unused.ts': unused }), /TS6133|TS6196/, 'an import alone is no example')
})
