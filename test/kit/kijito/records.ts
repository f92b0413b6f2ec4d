import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSegmentName, type ReadRecord, readSegment } from '@kim/manifest'

/** A line that is no record, by where it begins. */
const placeOf = (segment: unknown, from: unknown): string => `${segment} at ${from}`

/**
 * Every record of the live segments, in file order. A line that is none of ours is our bug, unless it was cut by a
 * full disk or an end without a word and a note says so.
 */
export function readRecords(storeDir: string): ReadRecord[] {
  const events = join(storeDir, 'events')
  let names: string[]
  try {
    names = readdirSync(events).filter(name => parseSegmentName(name) !== undefined)
  } catch {
    return []
  }
  const records: ReadRecord[] = []
  const torn = new Map<string, string>()
  for (const name of names.sort()) {
    const bytes = readFileSync(join(events, name))
    readSegment(() => [bytes], {
      valid({ record }) {
        records.push(record)
        return true
      },
      malformed: ({ offset, reason }) => void torn.set(placeOf(name, offset), reason),
      future: (_seq, { offset }) => void torn.set(placeOf(name, offset), 'future'),
      blank: ({ offset }) => void torn.set(placeOf(name, offset), 'blank'),
    })
  }
  for (const { item_id, payload } of records) {
    if (item_id === 'torn_tail_adjudicated') torn.delete(placeOf(payload?.['segment'], payload?.['from']))
  }
  for (const [place, kind] of torn) throw new Error(`${place}: a line is ${kind}, and no note says why`)
  return records
}

/** A number in a record's payload. */
function numberIn({ payload }: ReadRecord, name: string): number {
  return Number(payload?.[name])
}

/** What a record announces or ends, in a few characters; undefined if it is silent. */
function told(record: ReadRecord): string | undefined {
  const { event, item_type, payload } = record
  if (item_type === 'message') return event === undefined ? undefined : `${event} ${numberIn(record, 'id')}`
  if (item_type === 'persona') {
    return event === 'armed' ? `armed(${numberIn(record, 'cursor')})` : event
  }
  if (item_type !== 'alert') return undefined
  const kind = String(payload?.['kind'])
  if (payload?.['status'] === 'open') return event === undefined ? undefined : `${event} ${kind}`
  return event ?? `cleared ${kind}`
}

/** What the journal tells of a persona, in order. */
export function storyOf(records: readonly ReadRecord[], persona: string): string[] {
  return records.flatMap(record => {
    const text = record.agent === persona ? told(record) : undefined
    return text === undefined ? [] : [text]
  })
}

/** The ids of messages that came into the journal without being announced. */
export function silentOf(records: readonly ReadRecord[], persona: string): number[] {
  return records
    .filter(
      record => record.agent === persona && record.item_type === 'message' && record.event === undefined,
    )
    .filter(({ action }) => action === 'create' || action === 'backfill')
    .map(record => numberIn(record, 'id'))
}

/** What no journal may show, whatever happened: an empty list, or what is wrong. */
export function wrongWith(records: readonly ReadRecord[]): string[] {
  const wrong: string[] = []
  const made = new Set<string>()
  let before = records[0] === undefined ? 0 : records[0].seq - 1
  for (const record of records) {
    if (record.seq !== before + 1) wrong.push(`${record.seq} stands after ${before}`)
    before = record.seq
    if (record.item_type !== 'message' || record.item_id === undefined) continue
    if (record.action !== 'create' && record.action !== 'backfill') continue
    if (made.has(record.item_id)) wrong.push(`${record.item_id} came in twice`)
    made.add(record.item_id)
  }
  return wrong
}
