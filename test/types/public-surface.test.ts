import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as sdk from '@kim/observer-sdk'
import t, { type Test } from 'tap'
import { compileFiles, root } from './compile.js'

const source = (name: string): string => readFileSync(join(root, 'test', 'types', name), 'utf8')

const compile = (t: Test, text: string): Promise<string> =>
  compileFiles(t, { 'equal.ts': source('equal.ts'), 'candidate.ts': text })

t.test('surface - of the SDK is what is written down', async t => {
  const text = source('public-surface.test-d.ts')
  const assertions = text.match(/^ {2}Assert</gm)?.length ?? 0
  t.ok(assertions >= 30, `${assertions} assertions`)
  t.equal(await compile(t, text), '')
  t.comment(`${assertions} assertions about types`)
  const writes = /^(append|write|save|set|put|delete|remove|lock|mark|ack|create|update|repair|redact|gc)/i
  t.same(
    Object.keys(sdk).filter(name => writes.test(name)),
    [],
    'no verb that writes',
  )
})

/** Things that must not compile, each with what the compiler has to say about it. */
const WRONG: readonly (readonly [what: string, text: string, says: RegExp])[] = [
  ['a false assertion', `type A = Assert<Equal<1, 2>>`, /TS2344/],
  ['readonly told apart from not', `type A = Assert<Equal<{ readonly a: 1 }, { a: 1 }>>`, /TS2344/],
  ['any told apart from anything', `type A = Assert<Equal<any, string>>`, /TS2344/],
  ['an assignment to state', `declare const o: Observer; o.state.size = 1`, /TS2540/],
  ['an assignment to an entity', `declare const e: EntityView; e.payload = {}`, /TS2540/],
  ['a change of a payload', `declare const e: EntityView; e.payload!['read'] = true`, /TS2542/],
  ['a record pushed', `declare const c: Change; c.records.push(c.records[0]!)`, /TS2339/],
  ['a verb that writes', `declare const o: Observer; o.append([])`, /TS2339/],
  ['an entity set', `declare const o: Observer; o.state.set('a', 'b', {})`, /TS2339/],
  ['options without cursors', `openObserver({ eventsDir: 'x' })`, /TS2741/],
]

t.test('surface - what must not compile does not', async t => {
  const head = `import { type Change, type EntityView, type Observer, openObserver } from '@kim/observer-sdk'
import type { Assert, Equal } from './equal.js'\n`
  const uses = `\nexport type Used = [Change, EntityView, Observer, typeof openObserver, Assert<Equal<1, 1>>]\n`
  t.equal(await compile(t, head + uses), '', 'the frame alone compiles')
  for (const [what, text, says] of WRONG) t.match(await compile(t, `${head}${text}${uses}`), says, what)
})
