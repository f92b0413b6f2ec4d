// An embedded observer in a process of its own. Prints a line of JSON a change, or one about everything.
import { parseArgs } from 'node:util'
import { fileCursors, memoryCursors, openObserver } from '@kim/observer-sdk'

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '' },
    cursors: { type: 'string' },
    'die-after': { type: 'string' },
    follow: { type: 'boolean', default: false },
  },
})
const observer = await openObserver({
  eventsDir: values.events,
  cursors: values.cursors === undefined ? memoryCursors() : fileCursors(values.cursors),
  from: 'start',
})
const print = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`)

if (values['die-after'] !== undefined) {
  // Dies with the change in hand: nothing of it was asked beyond.
  let left = Number(values['die-after'])
  for await (const { records } of observer.changes()) {
    const line = `${JSON.stringify({ first: records[0]?.seq, last: records.at(-1)?.seq })}\n`
    const isLast = left-- === 0
    await new Promise(resolve => process.stdout.write(line, resolve))
    if (isLast) process.kill(process.pid, 'SIGKILL')
  }
} else if (values.follow) {
  process.once('SIGTERM', () => void observer.close())
  for await (const { records } of observer.changes())
    print({ first: records[0]?.seq, last: records.at(-1)?.seq })
} else {
  let records = 0
  const { head, projectId, status } = observer
  for await (const change of observer.changes()) {
    records += change.records.length
    if (change.cursor.seq >= head.seq) break
  }
  print({ digest: observer.digest(), head: head.seq, project_id: projectId, records, status: status.kind })
  await observer.close()
}
