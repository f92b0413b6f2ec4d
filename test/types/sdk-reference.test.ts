import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { root } from './compile.js'

const committed = readFileSync(join(root, 'docs/sdk-reference.md'), 'utf8')

/** The declarations of the SDK and of what it passes on, changed in one place, and the page that is made of them. */
function referenceOf(t: Test, file = '', before = '', after = ''): { page: string; error: string } {
  const folder = mkdtempSync(join(tmpdir(), 'kim-reference-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['manifest/dist', 'observer-sdk/dist'])
    cpSync(join(root, name), join(folder, name), {
      recursive: true,
      filter: path => /(\.d\.ts|dist|\/[\w-]+)$/.test(path),
    })
  if (file !== '') {
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8')
    t.ok(text.includes(before), `${file} has ${before}`)
    writeFileSync(path, text.replace(before, after))
  }
  const out = join(folder, 'page.md')
  writeFileSync(out, '')
  const script = join(root, 'scripts/dist/gen-sdk-reference.js')
  const { stderr } = spawnSync(process.execPath, [script, folder, out], { encoding: 'utf8' })
  return { page: readFileSync(out, 'utf8'), error: stderr }
}

t.test('reference - the committed page is what the types and their comments say', t => {
  const { page, error } = referenceOf(t)
  t.equal(error, '')
  t.equal(page, committed, 'npm run gen:reference writes it again')
  t.end()
})

t.test('reference - a type or a comment that changes is another page', t => {
  const changes = [
    ['observer-sdk/dist/observer.d.ts', 'waitFor(seq: number)', 'waitFor(seq: bigint)'],
    ['observer-sdk/dist/observer.d.ts', 'Opens an observer.', 'Opens one.'],
    ['manifest/dist/errors.d.ts', 'readonly usage:', 'readonly misuse:'],
    ['observer-sdk/dist/verify-door.d.ts', 'type Finding,', ''],
  ] as const
  for (const [file, before, after] of changes) {
    const { page, error } = referenceOf(t, file, before, after)
    t.equal(error, '')
    t.not(page, committed, `${before} → ${after}`)
  }
  t.end()
})

t.test('reference - a public name without a comment is named, and no page is written', t => {
  const comment = '/** Opens the blob with this hash. */'
  t.match(
    referenceOf(t, 'observer-sdk/dist/store/file-content.d.ts', comment, ''),
    { error: '' },
    'no public name',
  )
  const found = referenceOf(
    t,
    'observer-sdk/dist/cursors/consumer-cursors.d.ts',
    '/** Makes a cursor durable. */\n',
    '',
  )
  t.match(found, { page: /^$/, error: /writeConsumer/ })
  t.end()
})
