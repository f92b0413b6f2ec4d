/**
 * Appends through one held descriptor in bursts, each line with the moment of its write; told to, one burst in four is
 * a thousand lines in one write. Told when to begin on stdin.
 */
import { closeSync, openSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeRecord } from '@kim/manifest'
import { Prng } from '../kit/index.js'

const [path = '', firstSeq = '', count = '', batches = ''] = process.argv.slice(2)
const BATCH = 1000
const rng = new Prng(9)
const end = Number(firstSeq) + Number(count)
let seq = Number(firstSeq)

/** As many digits as every moment has: lines are made beforehand, and only stamped when they are written. */
const UNSTAMPED = 1_000_000_000_000.125

function next(): Buffer {
  const at = seq++
  return Buffer.from(
    encodeRecord({
      v: 2,
      seq: at,
      ts: '2026-06-10T14:03:22.114Z',
      writer: 'w_31416-9f3c2a',
      agent: 'river',
      action: 'create',
      event: 'new',
      item_type: 'message',
      item_id: `river/${at}`,
      entity_rev: 1,
      summary: `message ${at}`,
      payload: {
        schema_version: 1,
        persona: 'river',
        id: at,
        from: 'argus',
        content: 'tests are green, merging now. '.repeat(8),
        read: false,
        sent_ms: UNSTAMPED,
      },
    }),
  )
}

/** Writes lines in one call, each stamped with the moment before it. */
function write(lines: readonly Buffer[]): number {
  const now = `${(performance.timeOrigin + performance.now()).toFixed(2)}5`
  for (const line of lines) line.write(now, line.indexOf(`${UNSTAMPED}`), 'latin1')
  return writeSync(fd, lines.length === 1 ? (lines[0] as Buffer) : Buffer.concat(lines))
}

await new Promise(resolve => process.stdin.once('data', resolve))
const fd = openSync(path, 'a')
let bytes = 0
while (seq < end) {
  if (batches !== '' && rng.int(4) === 0)
    bytes += write(Array.from({ length: Math.min(BATCH, end - seq) }, next))
  else {
    for (let left = 1 + rng.int(8); left > 0 && seq < end; left--) {
      bytes += write([next()])
      // Within a burst one write follows the other by up to 5 ms.
      if (rng.int(2) === 0) await sleep(rng.int(5))
    }
  }
  await sleep(5 + rng.int(41))
}
closeSync(fd)
process.stdout.write(String(bytes))
process.exit(0)
