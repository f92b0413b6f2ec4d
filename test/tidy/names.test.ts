import { dirname, join, normalize } from 'node:path'
import { alertKinds } from '@kim/manifest'
import t from 'tap'
import { grep, report, sources, textOf } from './sources.js'

/** Production sources: what packages and examples are built from, and the generators. */
const production = sources('').filter(file => /^(examples\/)?[\w-]+\/src\//.test(file))

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm
const LIST = /^export (?:type )?\{([^}]*)\}(?! from)/gm

/** Names that a file both declares and exports. An overloaded function counts once. */
function exportedNames(text: string): Set<string> {
  const names = new Set([...text.matchAll(DECLARATION)].map(([, name = '']) => name))
  for (const [, list = ''] of text.matchAll(LIST)) {
    for (const [, name = ''] of list.matchAll(/(?:^|,)\s*(?:type )?(\w+)/g)) {
      const isDeclared = new RegExp(
        `^(?:async )?(?:function\\*?|const|let|class|interface|type) ${name}\\b`,
        'm',
      )
      if (isDeclared.test(text)) names.add(name)
    }
  }
  return names
}

/** Files that a command table loads when its command is chosen. Each of them exports a `run`. */
function commandFiles(files: readonly string[]): Set<string> {
  return new Set(
    files.flatMap(file =>
      [...textOf(file).matchAll(/load: \(\) => import\('([^']+)\.js'\)/g)].map(
        ([, target = '']) => `${normalize(join(dirname(file), target))}.ts`,
      ),
    ),
  )
}

/** Names that several files export, each with its files. `run` does not count in the files of commands. */
function sharedNames(
  files: ReadonlyMap<string, string>,
  commands: ReadonlySet<string>,
): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const [file, text] of files) {
    for (const name of exportedNames(text)) {
      if (name === 'run' && commands.has(file)) continue
      found.set(name, [...(found.get(name) ?? []), file])
    }
  }
  return new Map([...found].filter(([, places]) => places.length > 1))
}

t.test('names - an exported name is declared once in the repository', async t => {
  const commands = commandFiles(production)
  t.ok(production.length > 100 && commands.size > 20, `${production.length} files, ${commands.size} commands`)
  const shared = sharedNames(new Map(production.map(file => [file, textOf(file)])), commands)
  t.same(
    [...shared].map(([name, files]) => `${name}: ${files.join(', ')}`),
    [],
  )
})

t.test('names - a second declaration is found in each form that it can take', async t => {
  const first = 'export interface Cursor {}\nexport function load(): void\nexport function load(): void {}\n'
  const forms = [
    'export type Cursor = string',
    'export class Cursor {}',
    'export abstract class Cursor {}',
    'export const Cursor = 1',
    'interface Cursor {}\nexport type { Cursor }',
    'const other = 1\nclass Cursor {}\nexport { other, Cursor }',
  ]
  const none = new Set<string>()
  for (const form of forms) {
    const shared = sharedNames(
      new Map([
        ['a.ts', first],
        ['b.ts', form],
      ]),
      none,
    )
    t.same([...shared], [['Cursor', ['a.ts', 'b.ts']]], form)
  }
  for (const form of [
    "export type { Cursor } from './a.js'",
    "import { Cursor } from './a.js'\nexport { Cursor }",
  ])
    t.same(
      [
        ...sharedNames(
          new Map([
            ['a.ts', first],
            ['b.ts', form],
          ]),
          none,
        ),
      ],
      [],
      form,
    )
  const runs = new Map([
    ['a.ts', 'export async function run() {}'],
    ['b.ts', 'export function run() {}'],
  ])
  t.same([...sharedNames(runs, new Set(['a.ts', 'b.ts']))], [], 'commands')
  t.same([...sharedNames(runs, none)], [['run', ['a.ts', 'b.ts']]], 'no commands')
})

const kind = `['"](?:${[...alertKinds.keys()].join('|')})['"]`

t.test('names - kinds of alerts are listed in the manifest only', async t => {
  const spelled = grep(
    production.filter(file => !/^(manifest|producer|scripts|examples)\//.test(file)),
    new RegExp(kind),
    true,
  )
  t.same(report(spelled), [], 'a reader asks alertFacts() what it needs to know of a kind')
  const listed = production.filter(
    file =>
      !/^(manifest|scripts|examples)\//.test(file) &&
      new RegExp(`${kind}\\s*[,|]\\s*${kind}`).test(textOf(file)),
  )
  t.same(listed, [], 'use AlertKind, AccountAlertKind or alertKinds')
})
