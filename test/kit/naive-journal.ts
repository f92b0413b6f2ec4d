import type { Buffer } from 'node:buffer'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

/** A line of a journal as the plainest possible reader sees it. */
export interface NaiveRecord {
  readonly segment: string
  readonly seq: number
  readonly action: string
  readonly item_type: string
  readonly item_id: string
  readonly summary: string
  readonly key: string | undefined
  readonly tx: { readonly id: string; readonly i: number; readonly n: number } | undefined
  readonly writer: string
  readonly raw: Readonly<Record<string, unknown>>
}

/**
 * The records of a journal that have effect, in file order, read without any of our own code: split, parse,
 * and drop the runs of a transaction that are not whole. The second opinion beside `verify`.
 */
export function readNaively(events: ReadonlyMap<string, Buffer>): NaiveRecord[] {
  const segments = new Map<string, Buffer>()
  for (const [path, data] of events) {
    const name = /^(?:archive\/)?(seg-\d{8}\.jsonl)(\.gz)?$/.exec(path)
    if (name?.[1] === undefined) continue
    if (path.startsWith('archive/') && segments.has(name[1])) continue
    segments.set(name[1], name[2] === undefined ? data : gunzipSync(data))
  }
  return [...segments.keys()].sort().flatMap(name => recordsOf(name, segments.get(name) as Buffer))
}

/** The files below a real `events/` directory, in the shape `readNaively` and SimFs use. */
export function filesBelow(dir: string, prefix = ''): Map<string, Buffer> {
  const out = new Map<string, Buffer>()
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name)
    if (entry.isDirectory()) {
      for (const [below, data] of filesBelow(path, `${prefix}${entry.name}/`)) out.set(below, data)
    } else if (entry.isFile()) out.set(prefix + entry.name, readFileSync(path))
  }
  return out
}

function recordsOf(segment: string, data: Buffer): NaiveRecord[] {
  const lines = data.toString('utf8').split('\n')
  lines.pop()
  const records = lines.filter(line => line.trim() !== '').map(line => parse(segment, line))
  const out: NaiveRecord[] = []
  for (let at = 0; at < records.length; ) {
    const first = records[at]
    if (first?.tx === undefined) {
      if (first !== undefined) out.push(first)
      at++
      continue
    }
    const { id, n } = first.tx
    const run = records.slice(at, at + n)
    const whole =
      run.length === n &&
      run.every((r, i) => r?.tx?.id === id && r.tx.i === i + 1 && r.tx.n === n && r.writer === first.writer)
    if (whole) out.push(...(run as NaiveRecord[]))
    at += whole ? n : 1
  }
  return out
}

function parse(segment: string, line: string): NaiveRecord | undefined {
  let value: Record<string, unknown>
  try {
    value = JSON.parse(line) as Record<string, unknown>
  } catch {
    return undefined
  }
  if (value?.['v'] !== 2) return undefined
  return {
    segment,
    seq: Number(value['seq']),
    action: String(value['action']),
    item_type: String(value['item_type']),
    item_id: String(value['item_id'] ?? ''),
    summary: String(value['summary'] ?? ''),
    key: value['key'] as string | undefined,
    tx: value['tx'] as NaiveRecord['tx'],
    writer: String(value['writer']),
    raw: value,
  }
}
