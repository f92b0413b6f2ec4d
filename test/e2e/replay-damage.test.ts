import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { contentOf, copyOf, replay, segmentsOf, writeStore } from './replay-store.js'

const scratch = t.testdir()
const whole = writeStore(join(scratch, 'store'), 120, false)
const segments = segmentsOf(whole)
t.ok(segments.length > 6, `${segments.length} live segments`)
const middle = segments[Math.floor(segments.length / 2)] as string
const checkpoints = { recursive: true, force: true } as const

/** Without checkpoints every answer has to be read from the lines. */
function damaged(name: string): string {
  const copy = copyOf(whole, join(scratch, name))
  rmSync(join(copy, 'checkpoints'), checkpoints)
  return copy
}

const garbled = damaged('garbled')
const text = readFileSync(join(garbled, middle), 'latin1').split('\n')
const lost = JSON.parse(text[5] ?? '{}') as { seq: number }
text[5] = '\u0007 {"seq": garbage'
writeFileSync(join(garbled, middle), text.join('\n'), 'latin1')

const cut = damaged('cut')
rmSync(join(cut, middle))

const out = (name: string): string => join(scratch, name)

/** Each command about a moment or a stretch behind the damage. */
const asks: readonly (readonly [name: string, args: readonly string[], answer: RegExp])[] = [
  ['at', ['at', '--seq', '100000'], /river .* unread of/],
  ['at json', ['at', '--seq', '100000', '-o', 'json'], /"entity_count":2\d\d/],
  ['diff', ['diff', '--from', '5', '--to', 'end'], /message river\/120: created by seq/],
  ['diff json-patch', ['diff', '--from', '5', '--to', 'end', '-o', 'json-patch'], /"op":"add"/],
  ['find', ['find', '--until', 'entity.message."river/119".exists'], /create message river\/119/],
  ['explain', ['explain', 'river:new:119'], /appended .*announced as new/],
  ['play', ['play', '--speed', 'max'], /"item_id":"river\/120"/],
  ['timeline', ['timeline', '--out', out('t.html')], /wrote/],
]

for (const [name, args, answer] of asks) {
  t.test(`CL-50 ${name} - answers from what can be read, and says what is missing`, async t => {
    const sound = replay([...args, '--events', whole])
    t.equal(sound.code, 0, 'sound: 0')
    t.equal(
      sound.err.replace(/^kim-replay: the newest record is seq \d+: .*\n/, ''),
      '',
      'and that it is all there is',
    )
    const broken = replay([...args, '--events', garbled])
    t.equal(broken.code, 6, 'a damaged line: 6')
    t.match(broken.out, answer)
    const said = name === 'diff json-patch' ? JSON.stringify(JSON.parse(broken.out)) : broken.out + broken.err
    t.match(said, /malformed_line/)
    t.match(said, middle)
    const holed = replay([...args, '--events', cut])
    t.equal(holed.code, 5, 'a segment is gone: 5')
    t.match(holed.out, answer)
    t.match(name === 'diff json-patch' ? 'seq_hole' : holed.out + holed.err, /seq_hole/)
  })
}

t.test('CL-50 at - what lies before the damage is answered without a word of it', async t => {
  const before = replay(['at', '--seq', String(lost.seq - 30), '--events', garbled])
  t.equal(before.code, 0)
  t.notMatch(before.out, /malformed/)
  t.equal(
    before.out,
    replay(['at', '--seq', String(lost.seq - 30), '--events', whole]).out.replace(
      /checkpoint ckpt-\d+\.json/,
      'the first record on',
    ),
  )
})

t.test('CL-42 at - a checkpoint behind the damage gives what the lines no longer can', async t => {
  const copy = copyOf(whole, join(scratch, 'early'))
  const early = segmentsOf(copy)[0] as string
  rmSync(join(copy, early))
  const answered = replay(['at', '--seq', '100000', '--events', copy, '-o', 'json'])
  t.equal(answered.code, 0)
  t.equal(answered.out, replay(['at', '--seq', '100000', '--events', whole, '-o', 'json']).out)
})

t.test('CL-48 bundle - holds damage as it is, and its judge finds it', async t => {
  for (const [events, exit] of [
    [whole, 0],
    [garbled, 6],
    [cut, 5],
  ] as const) {
    const file = out('b.tgz')
    t.equal(replay(['bundle', '--out', file, '--redact', 'none', '--events', events]).code, 0)
    t.equal(replay(['verify', file]).code, exit)
  }
})

t.test(
  'CL-70 bundle - a line that a redaction took out harms no answer from it, and any other answer',
  async t => {
    const events = damaged('extra')
    const extra = readFileSync(join(events, middle), 'latin1').split('\n')
    // Within a transaction it would take the transaction with it.
    const between = extra.findIndex((line, i) => i > 3 && !line.includes('"tx":'))
    writeFileSync(join(events, middle), extra.toSpliced(between, 0, 'no record').join('\n'), 'latin1')
    const file = out('taken-out.tgz')
    const unpacked = out('unpacked')
    // What is copied is damaged, and what is made of it is not.
    t.equal(replay(['bundle', '--out', file, '--events', events]).code, 0)
    mkdirSync(unpacked)
    t.equal(spawnSync('tar', ['-xzf', file, '-C', unpacked]).status, 0)
    const inside = join(unpacked, 'events')
    t.match(replay(['verify', '--events', inside]), { code: 0, out: /1 line without a record/ })
    for (const [name, args, answer] of asks) {
      const { code, out: said, err } = replay([...args, '--events', inside])
      t.equal(code, 0, `${name}: ${err}`)
      t.match(said, answer)
      t.equal(replay([...args, '--events', events]).code, 6, name)
    }
    const bare = join(scratch, 'bare')
    t.equal(
      replay(['at', '--seq', '100000', '--events', copyOf(inside, bare)]).code,
      6,
      'without the manifest',
    )
  },
)

t.test(
  'CL-70 verify - a line that a redaction took out of a transaction leaves it as torn as it was',
  async t => {
    const events = damaged('within')
    const extra = readFileSync(join(events, middle), 'latin1').split('\n')
    // Where the segment begins depends on how long the writer's name is: maybe with what ends a transaction.
    const within = extra.findIndex((line, i) => i > 3 && /"tx":{"i":1,/.test(line)) + 1
    t.ok(within > 4, 'a transaction begins in it')
    writeFileSync(join(events, middle), extra.toSpliced(within, 0, 'no record').join('\n'), 'latin1')
    const file = out('within.tgz')
    t.equal(replay(['bundle', '--out', file, '--events', events]).code, 0)
    const { code, out: said } = replay(['verify', file])
    t.equal(code, 6)
    t.match(said, /389 records with effect.*1 line without a record.*tx_incomplete × 2/s)
    t.notMatch(said, /malformed_line/)
  },
)

t.test('CL-35 kim-replay - leaves what it reads as it was', async t => {
  const before = contentOf(whole)
  for (const [, args] of asks) replay([...args, '--events', whole])
  t.same(contentOf(whole), before)
})

t.test('CL-50 diff - sees an end that is torn in a segment it reads on through', async t => {
  const torn = damaged('torn')
  appendFileSync(join(torn, middle), '{"seq":')
  const ran = replay(['diff', '--from', '5', '--to', 'end', '--json', '--events', torn])
  t.equal(ran.code, 6)
  t.match(JSON.parse(ran.out), { missing: { malformed_line: { count: 1 } } })
})
