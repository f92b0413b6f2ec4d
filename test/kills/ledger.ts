import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { isKeyed, optionsOf, parseBatch, parseRecord, recordName } from './load.js'

/** A line of the journal that an observer would apply. */
interface Line {
  readonly seq: number
  readonly summary?: string
  readonly action?: string
  readonly item_type?: string
  readonly item_id?: string
  readonly tx?: { readonly id: string; readonly i: number; readonly n: number }
}

/**
 * What callers of one store were told, to be held against what stands in it. The journal is read here by the
 * plainest means there are, so that it is not judged by the code that wrote it.
 */
export class Ledger {
  /** The seq every acknowledged record was given. */
  readonly #told: Map<string, number> = new Map()
  /** Keyed batches without an answer. */
  readonly #open: Set<string> = new Set()
  readonly #problems: string[] = []
  #lastKeyed: string | undefined
  receipts = 0
  /** Records for which a retry was answered with the first seq. */
  deduped = 0

  get records(): number {
    return this.#told.size
  }

  asking(batch: string): void {
    this.#open.add(batch)
  }

  receipt(batch: string, seqs: readonly number[], deduped: number): void {
    this.receipts++
    this.deduped += deduped
    const spec = parseBatch(batch)
    if (seqs.length !== spec.records) this.#problems.push(`${batch}: a receipt for ${seqs.length} records`)
    for (const [index, seq] of seqs.entries()) {
      const name = recordName(batch, index + 1)
      const before = this.#told.get(name)
      if (before !== undefined && before !== seq) {
        this.#problems.push(`${name}: acknowledged as ${before}, then as ${seq}`)
      }
      this.#told.set(name, before ?? seq)
    }
    if (isKeyed(spec)) {
      this.#open.delete(batch)
      this.#lastKeyed = batch
    }
  }

  /** What callers ask for again after a crash: what got no answer, and one batch whose answer was lost on its way. */
  retry(): string[] {
    const lost = this.#lastKeyed
    return [...this.#open, ...(lost === undefined ? [] : [lost])]
  }

  /** Everything that is wrong with a journal, given what its callers were told. */
  audit(eventsDir: string): string[] {
    const problems = [...this.#problems]
    const seqOf = new Map<string, number>()
    const placesOf = new Map<string, number[]>()
    const created = new Set<string>()
    let head = 0
    for (const { seq, summary, action, item_type, item_id } of effective(linesOf(eventsDir))) {
      if (seq <= head) problems.push(`seq ${seq} stands after ${head}`)
      head = Math.max(head, seq)
      const record = parseRecord(summary)
      if (record === undefined || summary === undefined) continue
      if (seqOf.has(summary)) problems.push(`${summary} stands twice, as ${seqOf.get(summary)} and ${seq}`)
      seqOf.set(summary, seq)
      if (action === 'create') {
        const entity = JSON.stringify([item_type, item_id])
        if (created.has(entity)) problems.push(`${entity} was created twice`)
        created.add(entity)
      }
      const places = placesOf.get(record.batch) ?? []
      placesOf.set(record.batch, places)
      places.push(record.at)
    }
    for (const [name, seq] of this.#told) {
      const found = seqOf.get(name)
      if (found !== seq) problems.push(`${name} was acknowledged as ${seq} and stands as ${found}`)
    }
    for (const [name, places] of placesOf) problems.push(...judgeBatch(name, places))
    return problems
  }
}

/** A batch stands as a prefix of itself; a transaction wholly. */
function judgeBatch(name: string, places: readonly number[]): string[] {
  const batch = parseBatch(name)
  if (places.some((at, index) => at !== index + 1)) return [`${name} stands as ${places.join(' ')}`]
  if (optionsOf(batch).tx === true && places.length !== batch.records) {
    return [`${name}: ${places.length} records of a transaction`]
  }
  return []
}

/** Drops the lines of transactions that are not complete on consecutive lines of one segment. */
function effective(segments: readonly (readonly Line[])[]): Line[] {
  return segments.flatMap(lines => {
    const kept: Line[] = []
    for (let at = 0; at < lines.length; at++) {
      const line = lines[at] as Line
      const { tx } = line
      if (tx === undefined) {
        kept.push(line)
        continue
      }
      const run = lines.slice(at, at + tx.n)
      const isWhole =
        run.length === tx.n && run.every((one, index) => one.tx?.id === tx.id && one.tx.i === index + 1)
      if (!isWhole) continue
      kept.push(...run)
      at += tx.n - 1
    }
    return kept
  })
}

/** Every terminated line that parses, by segment, archive included. */
function linesOf(eventsDir: string): Line[][] {
  const files = new Map<string, string>()
  for (const folder of [join(eventsDir, 'archive'), eventsDir]) {
    for (const name of namesIn(folder)) {
      const segment = /^(seg-\d{8})\.jsonl(\.gz)?$/.exec(name)?.[1]
      if (segment !== undefined) files.set(segment, join(folder, name))
    }
  }
  return [...files.keys()].sort().map(segment => {
    const path = files.get(segment) as string
    const stored = readFileSync(path)
    const text = (path.endsWith('.gz') ? gunzipSync(stored) : stored).toString('utf8')
    return text
      .split('\n')
      .slice(0, -1)
      .flatMap(line => parse(line))
  })
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** A torn line that was ended later is no record. */
function parse(line: string): Line[] {
  try {
    return [JSON.parse(line) as Line]
  } catch {
    return []
  }
}
