import { Writable } from 'node:stream'
import { LogStream } from '@kim/producer/internal'
import t from 'tap'

t.test(
  'log stream - one without a reader keeps some lines, drops the rest and says how many (CL-16)',
  async t => {
    const taken: string[] = []
    const waiting: (() => void)[] = []
    const output = new Writable({
      decodeStrings: false,
      write: (chunk, _encoding, done) => {
        taken.push(String(chunk))
        waiting.push(done)
      },
    })
    const stream = new LogStream(output)
    const line = `${'x'.repeat(1023)}\n`
    for (let n = 0; n < 1000; n++) stream.write(line)
    t.equal(taken.length, 1)
    t.ok(output.writableLength <= 262_144)
    for (let n = 0; n < 300; n++) {
      waiting.shift()?.()
      await new Promise(setImmediate)
    }
    t.equal(taken.length, 257)
    const said = JSON.parse(taken.at(-1) ?? '') as Record<string, unknown>
    t.match(said, { level: 'warn', code: 'log_dropped', dropped: 744 })
    stream.write(line)
    t.equal(taken.length, 258, 'and then it goes on')
    output.destroy(new Error('the reader is gone'))
    await new Promise(setImmediate)
    stream.write(line)
    t.pass('an end of the reader is none of the log')
  },
)
