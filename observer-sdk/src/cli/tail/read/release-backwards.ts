import { type Decoded, decodeLine, type ReadRecord } from '@kim/manifest'
import type { Entry } from '../entry.js'
import type { PlacedLine } from './lines-backwards.js'

/**
 * The records of one file that have an effect, last one first. A record of a transaction stands only with all of
 * its run, so a run is gathered from its last line; anything else that carries `tx` has no effect.
 *
 * `wanted` may say that a line need not be looked at; it must not say so of a line that could carry `tx`.
 */
export function* releaseBackwards(
  lines: Iterable<PlacedLine>,
  wanted: (line: Buffer) => boolean = () => true,
): Generator<Entry> {
  const source = lines[Symbol.iterator]()
  let put: PlacedLine | undefined
  const next = (): PlacedLine | undefined => {
    const back = put
    put = undefined
    return back ?? (source.next().value as PlacedLine | undefined)
  }
  for (let line = next(); line !== undefined; line = next()) {
    if (line.bytes === undefined || !wanted(line.bytes)) continue
    const entry = entryOf(line)
    const tx = entry?.record.tx
    if (entry === undefined || tx === 'malformed') continue
    if (tx === undefined) {
      yield entry
    } else if (tx.i === tx.n) {
      const run = [entry]
      while (run.length < tx.n) {
        const before = nextNonBlank(next)
        const found = before && entryOf(before)
        if (found === undefined || !precedes(found.record, run.at(-1)?.record)) {
          put = before
          break
        }
        run.push(found)
      }
      if (run.length === tx.n) yield* run
    }
  }
}

function nextNonBlank(next: () => PlacedLine | undefined): PlacedLine | undefined {
  for (let line = next(); line !== undefined; line = next()) {
    if (line.bytes === undefined || decode(line, line.bytes).kind !== 'blank') return line
  }
  return undefined
}

function precedes(record: ReadRecord, after: ReadRecord | undefined): boolean {
  const { tx } = record
  const next = after?.tx
  if (typeof tx !== 'object' || typeof next !== 'object') return false
  return tx.id === next.id && tx.n === next.n && tx.i === next.i - 1 && record.writer === after?.writer
}

function entryOf(line: PlacedLine): Entry | undefined {
  if (line.bytes === undefined) return undefined
  const decoded = decode(line, line.bytes)
  return decoded.kind === 'record' ? { record: decoded.record, line: line.bytes } : undefined
}

function decode(line: PlacedLine, bytes: Buffer): Decoded {
  return decodeLine(bytes, line.offset === 0)
}
