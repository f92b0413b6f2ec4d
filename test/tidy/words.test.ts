import t from 'tap'
import { bannedByFile, bannedIn, LATER, textUnderBan, withoutCode } from './banned-words.js'
import { PACKAGES, sources, textOf } from './sources.js'
import { textsIn } from './texts-in.js'

t.test('banned words - are in no document, help, error or test title', async t => {
  const found = bannedByFile()
  const above = Object.entries(found)
    .filter(([file, count]) => count > (LATER[file] ?? 0))
    .map(([file, count]) => {
      const words = bannedIn(textUnderBan(file, textOf(file)))
      return `${file}: ${count}, at most ${LATER[file] ?? 0} allowed: ${[...new Set(words)].join(', ')}`
    })
  t.same(above, [], 'test/tidy/banned-words.ts has the plain words')
  const done = Object.keys(LATER).filter(file => found[file] === undefined)
  t.same(done, [], 'files without any leave the list: node test/dist-test/tidy/shrink-banned-words.js')
  t.comment(`${Object.values(LATER).reduce((sum, count) => sum + count, 0)} left in older files`)
})

t.test('banned words - are in no comment of the product', async t => {
  const product = sources(...PACKAGES.map(name => `${name}/src/`))
  t.ok(product.length > 250)
  t.same(
    product.filter(file => bannedIn(textOf(file)).length > 0),
    [],
  )
})

t.test('banned words - are found across a line break and in any case, not inside other words', async t => {
  t.same(bannedIn('Nobody reads it.\nThe reader is\n  told of it, and begins Anew.'), [
    'nobody',
    'is told',
    'anew',
  ])
  t.same(bannedIn('a new whomever stands by there; this told'), [])
})

t.test('banned words - are exempt in code of documents and in comments of tests', async t => {
  t.same(bannedIn(withoutCode('See `nobody` and ``a ` whom``.\n```\nanew\n```\n')), [])
  t.same(bannedIn(withoutCode('See `this` anew and `that`.')), ['anew'])
  t.same(bannedIn(textUnderBan('a.ts', "// nobody\nconst nobody = ['whom', 'to whom'] /* anew */\n")), [
    'whom',
  ])
  t.same(bannedIn(textUnderBan('a.yml', '# nobody\nsummary: whom\n')), ['whom'])
  t.same(bannedIn(textUnderBan('a.json', '{"description":"// nobody"}')), ['nobody'])
})

t.test('texts - of a source are its strings and templates, whatever looks like one', async t => {
  const cases: readonly (readonly [source: string, ...texts: string[]])[] = [
    ["const a = 'http://x' // 'b'", 'http://x'],
    ['const a = "\\"//" /* "b" */ + \'c\'', '\\"//', 'c'],
    ['const a = /[/"]\\/"/.test(b) // "c"'],
    ["const a = b / 'c' / d", 'c'],
    ['return /"/.test("a")', 'a'],
    ['f(a) / "b".length / 2', 'b'],
    [`\`//\${a({ b: \`c \${d} e\` }) /* "f" */} g\``, 'c … e', '//… g'],
    ['/**\n * "a"\n */\n"b"', 'b'],
  ]
  for (const [source, ...texts] of cases) t.same(textsIn(source), texts, source)
  // A quote that is taken for the wrong end makes texts of code: those hold whole statements.
  const odd = sources('manifest/', 'producer/', 'cli-kit/', 'tail/src/', 'replay/src/cli/').flatMap(file =>
    textsIn(textOf(file))
      .filter(text => /^import [\w{*]+.* from |\nconst |\nexport /.test(text))
      .map(text => `${file}: ${text.slice(0, 80)}`),
  )
  t.same(odd, [], 'no text is code')
})
