import t from 'tap'
import { grep, PACKAGES, report, repositoryFiles, sources, textOf } from './sources.js'

/** Where the sources of our packages are. */
const SOURCE = PACKAGES.map(name => `${name}/src/`)

interface Ban {
  readonly rule: string
  readonly pattern: RegExp
  readonly files: () => string[]
}

/** Files that somebody wrote: the bytes of a picture spell anything by chance. */
const written = (): string[] =>
  repositoryFiles().filter(
    file => !file.startsWith('spec/vectors/') && file !== 'package-lock.json' && !file.endsWith('.png'),
  )

/** Each ban names what to do instead. */
const BANS: readonly Ban[] = [
  {
    rule: "observer - writes nothing: only cursors/ (client-private state) and a command's own output file may",
    pattern:
      /\b(writeFile|appendFile|writev?|createWriteStream|mkdir|mkdtemp|rename|unlink|rmdir|rm|f?truncate|symlink|link|f?chmod|l?chown|utimes|copyFile|cp)Sync\(|from 'node:fs\/promises'|\bcreateWriteStream\(|O_(WRONLY|RDWR|CREAT|APPEND|TRUNC)/,
    files: () =>
      sources('observer-sdk/src/', 'monitor/src/', 'tail/src/', 'replay/src/').filter(
        file => !/^(observer-sdk\/src\/cursors|replay\/src\/output)\//.test(file),
      ),
  },
  {
    rule: 'observer - starts no process and contacts no server, OB-2',
    pattern: /from 'node:(child_process|cluster|dgram|dns|http|http2|https|net|tls|worker_threads)'/,
    files: () => sources('observer-sdk/src/'),
  },
  {
    rule: 'errors - throw a KimError for what the world does, invariant() for our own bugs, never a bare Error',
    pattern: /throw new (Error|TypeError|RangeError)\(/,
    files: () => sources(...SOURCE).filter(file => !file.endsWith('/invariant.ts')),
  },
  {
    rule: 'names - of files and folders in a store stand in manifest/src/layout.ts alone',
    pattern: /['"`/]((seg|ckpt)-(\$|\d)|(meta\.json|control\.sock|health\.json|metrics\.prom)['"`/])/,
    files: () =>
      sources(...SOURCE).filter(
        file => file !== 'manifest/src/layout.ts' && !file.startsWith('manifest/src/generated/'),
      ),
  },
  {
    rule: 'durability - fsync stands in file-ops.ts alone',
    pattern: /\b(fsync|fdatasync)Sync\(/,
    files: () => sources('producer/src/').filter(file => !/\/(file-ops|system)\.ts$/.test(file)),
  },
  {
    rule: 'core - is pure: no clock, no randomness, no file in manifest, core or project',
    pattern:
      /\bDate\.now\(|\bnew Date\(\)|Math\.random\(|performance\.now\(|randomBytes\(|setTimeout\(|from 'node:fs/,
    files: () => sources('manifest/src/', 'producer/src/core/', 'observer-sdk/src/project/'),
  },
  {
    rule: 'output - goes through the streams a command was given, not console',
    pattern: /\bconsole\.\w+\(/,
    files: () => sources(...SOURCE),
  },
  {
    rule: 'unfinished - nothing is left to do in the tree',
    pattern: new RegExp(
      `\\b(${['TO', 'DO'].join('')}|${['FIX', 'ME'].join('')}|${['X', 'XX'].join('')})\\b|[Nn]ot (yet )?implemented`,
    ),
    files: () => written().filter(file => file !== 'LICENSE'),
  },
  {
    rule: 'tests - are neither narrowed nor left to do',
    pattern: /\b(t|test)\.(only|todo)\(|\{ *(only|todo): *(true|['"])/,
    files: () => sources('').filter(file => file.includes('test/')),
  },
  {
    rule: 'hosts - no registry is named and no path of one machine stands in a file',
    pattern: new RegExp(
      `${['registry', '(npmjs|yarnpkg)'].join('\\.')}|${['deb', 'debian'].join('\\.')}|(^|[^\\w.~-])/(work|farm|root|home/\\w+)/`,
    ),
    files: () => written().filter(file => !file.startsWith('LICENSE')),
  },
  {
    rule: 'types - no any, no non-null assertion, no suppressed error in sources',
    pattern: /@ts-(ignore|nocheck|expect-error)|\bas any\b|biome-ignore-all/,
    files: () => sources(...SOURCE),
  },
]

for (const { rule, pattern, files } of BANS) {
  t.test(rule, async t => {
    const own = ['test/tidy/']
    const looked = files().filter(file => !own.some(prefix => file.startsWith(prefix)))
    t.ok(looked.length > 0 || !rule.startsWith('observer'), 'files were looked at')
    t.same(report(grep(looked, pattern, true)), [])
  })
}

/** Lines a source file may have: beyond it, a second noun has moved in. */
const FILE_LINES_MAX = 600

t.test('size - a source file holds one noun', async t => {
  const long = sources(...SOURCE)
    .filter(file => !file.startsWith('manifest/src/generated/'))
    .map(file => ({ file, lines: textOf(file).split('\n').length }))
    .filter(({ lines }) => lines > FILE_LINES_MAX)
  t.same(long, [], `at most ${FILE_LINES_MAX} lines: split by noun`)
})

t.test('files - are named in kebab-case', async t => {
  const odd = sources('').filter(
    file => !/^[\w.-]+(\/[\w.-]+)*$/.test(file) || /[A-Z_]/.test(file.split('/').at(-1) ?? ''),
  )
  t.same(odd, [])
})

t.test('titles - of tests read "subject - case"', async t => {
  const files = sources('').filter(file => file.endsWith('.test.ts'))
  const breaches = grep(files, /\bt\.test\(\s*(['"`])(?!.* - .*\1)(?!\$\{)[^'"`]*\1/)
  t.same(report(breaches.filter(({ file }) => !file.startsWith('test/tidy/'))), [])
})
