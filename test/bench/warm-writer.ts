/** Appends through one held descriptor in bursts, each line with the moment of its write. Told when to begin on stdin. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeRecord } from '@kim/manifest'
import { Prng } from '../kit/index.js'

const [path = '', firstSeq = '', count = ''] = process.argv.slice(2)
const rng = new Prng(9)
const end = Number(firstSeq) + Number(count)

await new Promise(resolve => process.stdin.once('data', resolve))
const fd = openSync(path, 'a')
let bytes = 0
for (let seq = Number(firstSeq); seq < end; ) {
  const burst = 1 + rng.int(8)
  for (let n = 0; n < burst && seq < end; n++, seq++) {
    const line = Buffer.from(
      encodeRecord({
        v: 2,
        seq,
        ts: '2026-06-10T14:03:22.114Z',
        writer: 'w_31416-9f3c2a',
        agent: 'river',
        action: 'create',
        event: 'new',
        item_type: 'message',
        item_id: `river/${seq}`,
        entity_rev: 1,
        summary: `message ${seq}`,
        payload: {
          schema_version: 1,
          persona: 'river',
          id: seq,
          from: 'argus',
          content: 'tests are green, merging now. '.repeat(8),
          read: false,
          sent_ms: performance.timeOrigin + performance.now(),
        },
      }),
    )
    bytes += writeSync(fd, line)
    // Within a burst one write follows the other by up to 5 ms.
    if (rng.int(2) === 0) await sleep(rng.int(5))
  }
  await sleep(5 + rng.int(41))
}
closeSync(fd)
process.stdout.write(String(bytes))
process.exit(0)
