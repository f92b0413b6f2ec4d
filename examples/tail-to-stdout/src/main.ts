// Prints a line for each announcement, and goes on where it stopped: main.js <events directory> [cursor directory]
import { fileCursors, memoryCursors, openObserver, safeJson } from '@kim/observer-sdk'

const [eventsDir, cursorDir] = process.argv.slice(2)
if (eventsDir === undefined) {
  process.stderr.write('usage: main.js <events directory> [cursor directory]\n')
  process.exit(2)
}

const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
process.once('SIGTERM', () => stop.abort())

const observer = await openObserver({
  eventsDir,
  cursors: cursorDir === undefined ? memoryCursors() : fileCursors(cursorDir),
  signal: stop.signal,
})

/** Between quotes, so that a name cannot pass for what stands beside it, and with nothing that a terminal obeys or hides. */
const quoted = (text: string): string => safeJson(JSON.stringify(text))

// Each change is committed when the next one is asked for: what was not printed is handed over again.
for await (const change of observer.changes()) {
  if (change.gap !== undefined)
    process.stdout.write(`records ${change.gap.from} to ${change.gap.to} are missing\n`)
  for (const { seq, agent, event, summary } of change.news) {
    process.stdout.write(`${seq} ${[agent, event, summary].map(text => quoted(text ?? '')).join(' ')}\n`)
  }
}
