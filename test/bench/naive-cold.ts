/** What comparable tools do: each segment as text, split, every line parsed, the newest image kept. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Parsed {
  readonly item_type: string
  readonly item_id: string
  readonly payload?: object
}

/** How many entities there are, and how many of them have a payload. */
export function readAll(eventsDir: string): { entities: number; payloads: number } {
  const state = new Map<string, Parsed>()
  for (const name of readdirSync(eventsDir).sort()) {
    if (!name.endsWith('.jsonl')) continue
    for (const line of readFileSync(join(eventsDir, name), 'utf8').split('\n')) {
      if (line === '') continue
      const record = JSON.parse(line) as Parsed
      if (record.item_type !== 'journal') state.set(`${record.item_type}\t${record.item_id}`, record)
    }
  }
  let payloads = 0
  for (const { payload } of state.values()) if (payload !== undefined) payloads += 1
  return { entities: state.size, payloads }
}
