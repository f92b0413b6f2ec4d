import { FileNames } from '@kim/producer/internal'
import t from 'tap'

t.test('file names - KS-68 fold case and hold nothing that means anything in a path', t => {
  const names = new FileNames()
  t.equal(names.of('River'), 'river')
  t.equal(names.of('river x'), 'river_x')
  t.equal(names.of('Élodie'), 'élodie')
  t.equal(names.of('a/b'), 'a_b')
  t.equal(names.of('$(touch x)'), '__touch_x_')
  t.equal(names.of('.hidden'), '.hidden')
  t.end()
})

t.test('file names - KS-68 two that would be one are told apart, and who has one keeps it', t => {
  const names = new FileNames()
  t.equal(names.of('River'), 'river')
  const other = names.of('river')
  t.match(other, /^river-[0-9a-f]{8}$/)
  t.equal(names.of('River'), 'river')
  const again = new FileNames(names.given)
  t.equal(again.of('river'), other, 'also in the next life')
  t.match(again.of('e\u0301lan'), /^élan$/u)
  t.match(again.of('élan'), /^élan-[0-9a-f]{8}$/u, 'one text in two forms is one file on some systems')
  t.end()
})

t.test('file names - KS-70 are never a way out, and never too long', t => {
  const names = new FileNames()
  const hostile = [
    '.',
    '..',
    '...',
    '../../etc/x',
    '/',
    '',
    '\u0000',
    'x'.repeat(300),
    '😀'.repeat(100),
    '__proto__',
    'é'.repeat(200),
  ]
  const given = hostile.map(name => names.of(name))
  t.equal(new Set(given).size, hostile.length)
  for (const name of given) {
    t.notMatch(name, /^\.+$|[/\\\u0000]/, name)
    t.ok(Buffer.byteLength(name) <= 120, name)
  }
  t.end()
})
