import t from 'tap'
import { bannedByFile, bannedIn, LATER, textUnderBan, withoutCode } from './banned-words.js'
import { sources, textOf } from './sources.js'
import { withoutComments } from './without-comments.js'

t.test('banned words - are in no document, help, error or test title', t => {
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
  t.end()
})

t.test('banned words - are found across a line break and in any case, not inside other words', t => {
  t.same(bannedIn('Nobody reads it.\nThe reader is\n  told of it, and begins Anew.'), [
    'nobody',
    'is told',
    'anew',
  ])
  t.same(bannedIn('a new whomever stands by there; this told'), [])
  t.end()
})

t.test('banned words - are exempt in code of documents and in comments of sources', t => {
  t.same(bannedIn(withoutCode('See `nobody` and ``a ` whom``.\n```\nanew\n```\n')), [])
  t.same(bannedIn(withoutCode('See `this` anew and `that`.')), ['anew'])
  t.same(bannedIn(textUnderBan('a.ts', "// nobody\nconst a = 'whom' /* anew */\n")), ['whom'])
  t.same(bannedIn(textUnderBan('a.yml', '# nobody\nsummary: whom\n')), ['whom'])
  t.same(bannedIn(textUnderBan('a.json', '{"description":"// nobody"}')), ['nobody'])
  t.end()
})

t.test('comments - are taken out, and text that looks like one is not', t => {
  const cases: readonly (readonly [source: string, kept: string])[] = [
    ["const a = 'http://x' // b", "const a = 'http://x' "],
    ['const a = "\\"//" /* b */ + 1', 'const a = "\\"//"  + 1'],
    ['const a = /[/*]\\/\\//.test(b) // c', 'const a = /[/*]\\/\\//.test(b) '],
    ['const a = b / c // d / e', 'const a = b / c '],
    ['return /"/.test(a) // b', 'return /"/.test(a) '],
    [`\`//\${a({ b: \`/*\${c}//\` }) /* d */}//\` // e`, `\`//\${a({ b: \`/*\${c}//\` }) }//\` `],
    ['/**\n * a\n */\nb', '\nb'],
  ]
  for (const [source, kept] of cases) t.equal(withoutComments(source), kept, source)
  const lines = sources('manifest/src/', 'producer/src/', 'cli-kit/src/').flatMap(file =>
    withoutComments(textOf(file))
      .split('\n')
      .filter(line => /^\s*(\/\/|\/\*)/.test(line))
      .map(line => `${file}: ${line}`),
  )
  t.same(lines, [], 'no line of a comment is left')
  t.end()
})
