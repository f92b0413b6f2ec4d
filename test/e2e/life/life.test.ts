// ARCHITECTURE lists the files that a message passes, in their order. Here the list is compared with what runs.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { filesOf, traceLife } from './trace-life.js'

/** Files that a message may pass. */
const FILES_MAX = 50

/** The files of the list: `1. \`path\` – what it does`. */
function listedIn(page: string): string[] {
  const section = /^## The life of a message\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(page)?.[1] ?? ''
  return [...section.matchAll(/^\d+\. `([^`]+)` – /gm)].map(([, file = '']) => file)
}

t.test('life of a message - ARCHITECTURE lists each file that takes part, once', async t => {
  const { producer, tail, ran } = await traceLife()
  const listed = listedIn(readFileSync(new URL('../../../../ARCHITECTURE.md', import.meta.url), 'utf8'))
  const missing = [...new Set([...producer, ...tail])].filter(file => !listed.includes(file))
  t.same(missing, [], 'each file that a message sets off is listed')
  // What is put off a little, as the write of the cached next seq, can also fall into the idle window.
  const idle = listed.filter(file => !ran.includes(file))
  t.same(idle, [], 'each listed file runs for each message')
  t.equal(new Set(listed).size, listed.length, 'each is listed once')
  t.ok(listed.length <= FILES_MAX, `${listed.length} files, ${FILES_MAX} allowed`)
})

t.test('life of a message - a list is read line by line, in its section alone', async t => {
  const page =
    '1. `a` – x\n## The life of a message\nText.\n1. `b` – y\n2. `c` – z\n   more `d`\n## Next\n1. `e` – x\n'
  t.same(listedIn(page), ['b', 'c'])
  t.same(listedIn('## Other\n1. `b` – y\n'), [])
})

t.test(
  'life of a message - a function counts that ran for each message and not in the idle window',
  async t => {
    const url = (file: string, name: string): string =>
      `${new URL(`../../../../${file}`, import.meta.url)} ${name} 0`
    const reader = 'manifest/dist/segment-reader.js'
    const [first, other] = [url(reader, 'a'), url(reader, 'b')]
    t.same(filesOf([new Set([first]), new Set([first])], new Set()), ['manifest/src/segment-reader.ts'])
    t.same(filesOf([new Set([first]), new Set([first])], new Set([first])), [], 'idle')
    t.same(filesOf([new Set([first]), new Set([other])], new Set()), [], 'not for each message')
  },
)
