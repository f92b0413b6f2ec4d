import { basename } from 'node:path'
import t from 'tap'
import { grep, PACKAGES, report, sources, textOf } from './sources.js'

/** What the one reader and the one fold are made of, by file of `manifest/src`, and which other files may use it. */
const PARTS: readonly {
  readonly of: string
  readonly names: readonly string[]
  readonly users: readonly string[]
}[] = [
  { of: 'record', names: ['decodeLine', 'decodeText'], users: ['segment-reader', 'segment-backwards'] },
  { of: 'checkpoint-reader', names: ['LineFramer'], users: [] },
  { of: 'record-fate', names: ['TxTracker'], users: ['segment-reader'] },
  { of: 'record-fate', names: ['RepeatedLines', 'lineMark'], users: ['segment-reader'] },
  { of: 'record-fate', names: ['DuplicateFinder'], users: ['fold'] },
  { of: 'fold', names: ['Continuity'], users: [] },
]

/** Those that still use a part by themselves. The list only gets shorter. */
const OLD_USERS: readonly string[] = [
  'producer/src/journal/open.ts imports Continuity',
  'producer/src/journal/recover.ts imports Continuity',
  'producer/src/journal/repair.ts imports Continuity',
]

/** Parts that the door exports for them. */
const EXPORTED: readonly string[] = ['Continuity']

/** Stages whose state is made by the one fold, as ARCHITECTURE.md says. */
const FOLDED_IN: readonly string[] = [
  'producer/src/journal/',
  'observer-sdk/src/tail/',
  'observer-sdk/src/verify/',
  'replay/src/',
]

const production = (): string[] => sources(...PACKAGES.map(name => `${name}/src/`))

/** The names in braces after `import` or `export`, each with the module that it comes from. */
function namesOf(file: string, keyword: 'import' | 'export'): { name: string; target: string }[] {
  const lists = textOf(file).matchAll(new RegExp(`^${keyword} (?:type )?\\{([^}]*)\\} from '([^']+)'`, 'gm'))
  return [...lists].flatMap(([, list = '', target = '']) =>
    list
      .split(',')
      .map(name =>
        name
          .trim()
          .replace(/^type /, '')
          .replace(/ as .*/, ''),
      )
      .filter(name => name !== '')
      .map(name => ({ name, target })),
  )
}

const isOurs = (target: string): boolean => target.startsWith('.') || target.startsWith('@kim/')

t.test('reader and fold - their parts are used nowhere else', async t => {
  const uses = production().flatMap(file =>
    namesOf(file, 'import')
      .filter(({ target }) => isOurs(target))
      .flatMap(({ name }) => {
        const part = PARTS.find(({ names }) => names.includes(name))
        if (part === undefined) return []
        const isUser = file.startsWith('manifest/src/') && part.users.includes(basename(file, '.ts'))
        return [{ use: `${file} imports ${name}`, isUser }]
      }),
  )
  t.same(
    uses
      .filter(({ isUser }) => !isUser)
      .map(({ use }) => use)
      .sort(),
    [...OLD_USERS].sort(),
    'a new user takes the reader or the fold; one that does so now leaves the list',
  )
  for (const { names, users } of PARTS) {
    for (const user of users) {
      const file = `manifest/src/${user}.ts`
      t.ok(
        uses.some(({ use }) => names.some(name => use === `${file} imports ${name}`)),
        `${user} uses ${names[0]}`,
      )
    }
  }
})

t.test('reader and fold - their parts are behind the door of manifest', async t => {
  const exported = namesOf('manifest/src/index.ts', 'export').map(({ name }) => name)
  t.ok(exported.includes('SegmentReader') && exported.includes('Fold'))
  const parts = PARTS.flatMap(({ names }) => names)
  t.same(
    exported.filter(name => parts.includes(name)),
    EXPORTED,
  )
})

t.test('reader and fold - each part is where the table says', async t => {
  for (const { of, names } of PARTS)
    for (const name of names)
      t.match(textOf(`manifest/src/${of}.ts`), new RegExp(`^export (class|function) ${name}\\b`, 'm'))
})

t.test('reader and fold - only the fold makes a table of entities', async t => {
  const made = grep(production(), /\bnew EntityTable\b/, true)
  t.same([...new Set(made.map(({ file }) => file))], ['manifest/src/fold.ts'], report(made).join('\n'))
})

t.test('reader and fold - the stages that ARCHITECTURE names fold with it', async t => {
  for (const stage of FOLDED_IN) {
    const folds = grep(sources(stage), /\bnew Fold\b/, true)
    t.ok(folds.length > 0, `${stage}: ${report(folds).join(', ')}`)
  }
})
