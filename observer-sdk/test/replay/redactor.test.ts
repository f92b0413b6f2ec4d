import { decodeLine, type ReadRecord } from '@kim/manifest'
import { Redactor } from '@kim/observer-sdk/internal'
import t from 'tap'

const SECRET = 'tell nobody'

function decoded(line: string): { bytes: Uint8Array; record: ReadRecord } {
  const bytes = Buffer.from(line)
  const found = decodeLine(bytes)
  if (found.kind !== 'record') throw new RangeError(`${found.kind}: ${line}`)
  return { bytes, record: found.record }
}

/** What a foreign writer may put anywhere. */
const line = `{"v":2,"seq":7,"action":"${SECRET}","item_type":"${SECRET}","item_id":"river/1","agent":"river","ts":"${SECRET}","writer":"${SECRET}","summary":"${SECRET}","event":"${SECRET}","key":"${SECRET}","note":"${SECRET}","actor":{"kind":"${SECRET}","name":"${SECRET}"},"clock":{"mono_ms":1,"why":"${SECRET}"},"tx":{"id":"${SECRET}","i":1,"n":1},"payload":{"from":"argus","status":"open","__proto__":{"a":"${SECRET}"},"${SECRET}":1,"deep":[{"list":["${SECRET}",2,null,true]}],"kind":"${'x'.repeat(300)} ${SECRET}","content":"${SECRET}"}}`

t.test('CL-51 redactor - takes out every text that may be prose, wherever a writer put it', t => {
  for (const mode of ['bodies', 'all'] as const) {
    const { bytes, record } = decoded(line)
    const text = String(new Redactor(mode).line(bytes, { kind: 'record', record, defects: [] }))
    t.notMatch(text, new RegExp(SECRET), mode)
    const again = decoded(text)
    t.match(again.record, {
      seq: 7,
      tx: { id: 't1', i: 1, n: 1 },
      payload: { status: 'open', content: 'redacted', deep: [{ list: ['redacted', 2, null, true] }] },
    })
    t.equal(again.record.agent, mode === 'all' ? 'p1' : 'river')
    t.equal(again.record.item_id, mode === 'all' ? 'p1/1' : 'river/1')
    t.equal(again.record.clock?.mono_ms, 1)
  }
  const { bytes, record } = decoded(line)
  t.equal(new Redactor('none').line(bytes, { kind: 'record', record, defects: [] }), bytes)
  t.end()
})

t.test(
  'CL-51 redactor - the same name stays the same, and lines that are no records say how long they were',
  t => {
    const redactor = new Redactor('all')
    t.same(
      ['river', 'argus', 'river', 'kim'].map(name => redactor.persona(name)),
      ['p1', 'p2', 'p1', 'kim'],
    )
    t.same(
      [redactor.id('message', 'argus/9'), redactor.id('gate', 'g'), redactor.id('persona', 'river')],
      ['p2/9', 'i1', 'p1'],
    )
    const bytes = Buffer.from(`garbage ${SECRET}`)
    t.equal(redactor.line(bytes, decodeLine(bytes)), `{"bytes":${bytes.length},"redacted_line":true}`)
    const future = Buffer.from(`{"v":3,"seq":9,"x":"${SECRET}"}`)
    t.match(decodeLine(Buffer.from(String(redactor.line(future, decodeLine(future))))), {
      kind: 'future',
      seq: 9,
    })
    const blank = Buffer.from(' ')
    t.equal(redactor.line(blank, decodeLine(blank)), blank)
    t.end()
  },
)
