// An observer that follows so many records and weighs itself on the way. Wants `--expose-gc`. Prints one line of JSON.
import { parseArgs } from 'node:util'
import { memoryCursors, openObserver } from '@kim/observer-sdk'

const { values } = parseArgs({
  options: { events: { type: 'string', default: '' }, until: { type: 'string', default: '' } },
})
const WEIGHINGS = 12
const observer = await openObserver({ eventsDir: values.events, cursors: memoryCursors() })
const [first, until] = [observer.head.seq + 1, Number(values.until)]

/** What is alive, in MB, buffers included. */
function weight(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 2 ** 20
}

const weights: number[] = []
const residents: number[] = []
const breaks: string[] = []
let expected = first
process.stdout.write('ready\n')
for await (const { records, gap } of observer.changes()) {
  if (gap !== undefined) breaks.push(`gap ${gap.from} to ${gap.to}`)
  for (const { seq } of records) {
    if (seq !== expected && breaks.length < 10) breaks.push(`${expected} is ${seq}`)
    expected = seq + 1
  }
  // Whoever never looks at the state must not be the only one whose memory is flat.
  if (observer.persona('river').unread < 0) throw new Error('no count')
  if (((expected - first) / (until + 1 - first)) * WEIGHINGS >= weights.length + 1) {
    weights.push(weight())
    residents.push(process.memoryUsage.rss() / 2 ** 20)
  }
  if (expected > until) break
}
const { state, anomalies } = observer
process.stdout.write(`${JSON.stringify({ weights, residents, breaks, entities: state.size, anomalies })}\n`)
await observer.close()
