/**
 * A writer process for the live tests. It appends bursts 5 to 45 ms apart through a held descriptor, single
 * records and batches, rolls, parks segments and replaces meta.json, until it has written what it was asked for.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { segmentName } from '@kim/manifest'
import { GrowingJournal } from './growing-journal.js'

const [eventsDir = '', total = '0', largest = '1'] = process.argv.slice(2)
const journal = new GrowingJournal(eventsDir)
const segments = [journal.segment]
process.stdout.write('ready\n')
let state = 7
const random = (below: number): number => {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
  return (state >>> 8) % below
}

await new Promise(resolve => process.stdin.once('data', resolve))
process.stdin.destroy()
for (let bursts = 0; journal.seq < Number(total); bursts++) {
  for (let i = random(4); i >= 0 && journal.seq < Number(total); i--) {
    const left = Number(total) - journal.seq
    const records = Math.min(left, random(10) === 0 ? Number(largest) : 1 + random(3))
    if (random(8) === 0 && left > 3) journal.transaction(3)
    else if (random(6) === 0) {
      // A line that comes in two pieces, torn inside a character.
      const line = Buffer.from(journal.line({ summary: 'snow ☃' }))
      const cut = line.indexOf(0xe2) + 1
      journal.append(line.subarray(0, cut))
      await sleep(random(5))
      journal.append(line.subarray(cut))
    } else journal.grow(records)
    if (random(2) === 0) await sleep(5 + random(40))
  }
  if (bursts % 9 === 8 && Number(total) - journal.seq > 1) {
    journal.roll()
    segments.push(journal.segment)
  }
  if (bursts % 13 === 12 && segments.length > 2) {
    const number = segments.shift() as number
    const content = readFileSync(join(eventsDir, segmentName(number)))
    journal.archive(number, random(2) === 0 ? content : undefined)
  }
  writeFileSync(join(eventsDir, '.tmp-meta.json'), JSON.stringify({ next_seq: journal.seq + 1 }))
  renameSync(join(eventsDir, '.tmp-meta.json'), join(eventsDir, 'meta.json'))
  await sleep(5 + random(40))
}
journal.close()
