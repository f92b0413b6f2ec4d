import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cursor, fileCursors } from '@kim/observer-sdk'
import t from 'tap'

const cursor: Cursor = { checkpoint_seq: 3, seq: 7, writer: 'w_1-aa' }
const NAME = 'kim.observer.cursor.p.json'

t.test('file cursors - are private, whole, and come back as they were', async t => {
  const directory = join(t.testdir(), 'a', 'b')
  const cursors = fileCursors(directory)
  t.equal(await cursors.load('p'), undefined)
  await cursors.save('p', cursor)
  t.same(await cursors.load('p'), cursor)
  t.equal(await cursors.load('q'), undefined, 'another project')
  t.equal(readFileSync(join(directory, NAME), 'utf8'), '{"checkpoint_seq":3,"seq":7,"writer":"w_1-aa"}\n')
  t.equal(statSync(directory).mode & 0o777, 0o700)
  t.equal(statSync(join(directory, NAME)).mode & 0o777, 0o600)
})

t.test('file cursors - several saves at once leave one whole cursor and no draft', async t => {
  const directory = t.testdir()
  const cursors = fileCursors(directory)
  const seqs = [1, 2, 3, 4]
  await Promise.all(seqs.map(seq => cursors.save('p', { ...cursor, seq })))
  t.same(readdirSync(directory), [NAME])
  t.ok(seqs.includes((JSON.parse(readFileSync(join(directory, NAME), 'utf8')) as Cursor).seq))
})

t.test('file cursors - a save that fails leaves no draft, and says why', async t => {
  const directory = t.testdir()
  // A name that is taken by a directory with something in it cannot be replaced.
  mkdirSync(join(directory, NAME))
  writeFileSync(join(directory, NAME, 'x'), '')
  await t.rejects(Promise.resolve(fileCursors(directory).save('p', cursor)))
  t.same(readdirSync(directory), [NAME])
})
