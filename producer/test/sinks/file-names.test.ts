import { FileNames } from '@kim/producer/internal'
import t from 'tap'

const TEMPLATE = '/ev/{persona}.ndjson'

t.test('file names - KS-68 fold case and hold nothing that means anything in a path', async t => {
  const names = new FileNames(TEMPLATE)
  t.equal(names.of('River'), 'river')
  t.equal(names.of('river x'), 'river_x')
  t.equal(names.of('Élodie'), 'élodie')
  t.equal(names.of('a/b'), 'a_b')
  t.equal(names.of('$(touch x)'), '__touch_x_')
  t.equal(names.of('.hidden'), '.hidden')
})

t.test('file names - KS-68 two that would be one are told apart, and who has one keeps it', async t => {
  const names = new FileNames(TEMPLATE)
  t.equal(names.of('River'), 'river')
  const other = names.of('river')
  t.match(other, /^river-[0-9a-f]{8}$/)
  t.equal(names.of('River'), 'river')
  const again = new FileNames(TEMPLATE, names.given)
  t.equal(again.of('river'), other, 'also in the next life')
  t.equal(again.of('e\u0301lan'), 'e_lan', 'one text in two forms is no file of one name on any system')
  t.equal(again.of('élan'), 'élan')
})

t.test(
  'file names - E6: are those that the older monitor gave, so that its followers read on (KS-68)',
  async t => {
    const given = [
      ['Straße', 'strasse'],
      ['STRASSE!', 'strasse_'],
      ['Οδυσσεύς', 'οδυσσεύσ'],
      ['ı', 'ı'],
      ['İ', 'i_'],
      ['Ꭰ', 'Ꭰ'],
      ['ꭰ2', 'Ꭰ2'],
      ['ẞ', 'ss'],
      ['E\u0301', 'e_'],
    ] as const
    const names = new FileNames(TEMPLATE)
    for (const [persona, name] of given) t.equal(names.of(persona), name, persona)
  },
)

t.test('file names - KS-68 no file of a persona is the rotated file of another', async t => {
  const names = new FileNames('/ev/{persona}')
  t.equal(names.of('x'), 'x')
  t.match(names.of('x.1'), /^x\.1-[0-9a-f]{8}$/)
  t.match(names.of('x.'), /^x\.-[0-9a-f]{8}$/, 'in whatever way the number comes about')
  t.equal(names.of('x.1a'), 'x.1a')
  for (const template of ['/ev/f.{persona}', '/ev/{persona}.1', '/ev/{persona}7.1'])
    t.match(new FileNames(template).of('x.1'), /^x\.1-/, template)
  for (const template of ['/ev/{persona}.jsonl', '/ev/{persona}/1', '/{persona}/ev.ndjson'])
    t.equal(new FileNames(template).of('x.1'), 'x.1', `${template} keeps them apart`)
  const again = new FileNames('/ev/{persona}', [
    ['y', 'y'],
    ['y.2', 'y.2'],
  ])
  t.equal(again.of('y'), 'y')
  t.match(again.of('y.2'), /^y\.2-/, 'nor one that was given out before')
})

t.test('file names - KS-70 are never a way out, and never too long', async t => {
  const names = new FileNames(TEMPLATE)
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
})
