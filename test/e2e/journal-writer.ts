// A producer's stand-in, run as a process of its own: appends in bursts through the descriptor it holds open, over
// rolls, checkpoints and archive moves, until its time is up or its input ends. Prints one line of JSON at the end.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Draft, openJournal } from '@kim/producer/internal'
import { Prng } from '../kit/index.js'
import { SegmentWrites } from './segment-writes.js'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    singles: { type: 'string', default: '40' },
    batches: { type: 'string', default: '4' },
    'segment-bytes': { type: 'string', default: '262144' },
    mirror: { type: 'string' },
    await: { type: 'boolean', default: false },
    hold: { type: 'boolean', default: false },
  },
})
const random = new Prng(Number(values.seed))
const segments = new SegmentWrites(values.mirror)
const journal = openJournal({
  fs: segments.fileSystem,
  storeDir: values.store,
  source: 'http://localhost:7474',
  segmentBytes: Number(values['segment-bytes']),
  gzip: random.chance(0.5),
})

let id = 0
function drafts(count: number): Draft[] {
  return Array.from({ length: count }, () => {
    id += 1
    const persona = random.pick(['river', 'argus', 'loom'])
    return {
      agent: persona,
      action: 'create',
      item_type: 'message',
      item_id: `${persona}/${id}`,
      event: 'new',
      summary: 'from argus: tests are green',
      payload: {
        content: 'tests are green',
        content_length: 15,
        created: '2026-06-10T14:03:21Z',
        from: 'argus',
        id,
        persona,
        read: false,
        schema_version: 1,
      },
    }
  })
}

/** A burst: some appends one behind the other, 5–45 ms apart. */
const plan: number[] = [
  ...Array.from({ length: Number(values.singles) }, () => 1),
  ...Array.from({ length: Number(values.batches) }, () => 1000),
]
for (let at = plan.length - 1; at > 0; at--) {
  const other = random.int(at + 1)
  ;[plan[at], plan[other]] = [plan[other] as number, plan[at] as number]
}
if (values.await) await new Promise(resolve => process.stdin.once('data', resolve))
process.stdin.pause()
for (const count of plan) {
  journal.append(drafts(count), { tx: count > 1 && random.chance(0.5) })
  while (journal.upkeep()) await sleep(0)
  if (random.chance(0.05)) journal.checkpoint()
  await sleep(random.between(5, 45))
}
journal.checkpoint()
journal.append(drafts(1))
const { writes } = segments
const said = { head: journal.head.seq, messages: id, project_id: journal.projectId, writes }
process.stdout.write(`${JSON.stringify(said)}\n`)
if (values.hold) await new Promise(resolve => process.stdin.once('end', resolve).resume())
journal.close()
