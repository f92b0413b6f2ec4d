/** Which records a consumer is handed, decided by reading all of them: the long way that a cursor's search shortens. */
import { type Cursor, type FoldedRecord, isNews, sectionsOf, wakeClassOf } from '@kim/manifest'
import {
  type Gap,
  type JournalDirectory,
  type JournalLine,
  JournalReader,
  missingBetween,
  ORIGIN,
} from '@kim/observer-sdk/history'

const BATCH_BYTES = 1024 * 1024

/** What is known of a journal as a whole. */
interface Whole {
  readonly head: number
  /** Number of the first segment. */
  readonly first: number
  /** Whether the end of the journal is there and cannot be read. */
  readonly isEndHidden: boolean
}

/** The records in scope, as far as anybody asks. */
export class HandedOver {
  readonly news: { seq: number; wake: string }[] = []
  gap: Gap | undefined
  readonly #sections = new Map<string, Set<string>>()

  /** What a consumer with this cursor is handed of all that is available. */
  static since(directory: JournalDirectory, cursor: Cursor, whole: Whole): HandedOver {
    const survey = new Survey(cursor, whole)
    for (const entry of everyEntry(directory)) survey.take(entry)
    const from = survey.start()
    const handed = new HandedOver()
    let at = 0
    let firstSeq: number | undefined
    for (const { record } of everyEntry(directory)) {
      if (at++ < from) continue
      firstSeq ??= record.seq
      handed.take(record)
    }
    handed.gap = survey.gap(firstSeq)
    return handed
  }

  /** A record in scope. */
  take(record: FoldedRecord): void {
    if (isNews(record)) this.news.push({ seq: record.seq, wake: wakeClassOf(record.event ?? '') })
    const sections = sectionsOf(record)
    if (sections.length === 0) return
    const known = this.#sections.get(record.item_type) ?? new Set()
    for (const section of sections) known.add(section)
    this.#sections.set(record.item_type, known)
  }

  /** The sections made stale, by item type. */
  sections(): Record<string, string[]> {
    return Object.fromEntries([...this.#sections].map(([type, sections]) => [type, [...sections].sort()]))
  }
}

function* everyEntry(directory: JournalDirectory): Generator<JournalLine> {
  const reader = new JournalReader(directory, ORIGIN)
  for (;;) {
    const { entries, more } = reader.read(BATCH_BYTES)
    yield* entries
    if (!more) return
  }
}

/** What table U asks of the records, by their number in file order. */
class Survey {
  readonly #cursor: Cursor
  readonly #whole: Whole
  #records = 0
  #above: { readonly at: number; readonly entry: JournalLine } | undefined
  #afterWriter: number | undefined
  #started: number | undefined
  #ours = false
  #others = false

  constructor(cursor: Cursor, whole: Whole) {
    this.#cursor = cursor
    this.#whole = whole
  }

  take(entry: JournalLine): void {
    const { seq, writer, action, payload } = entry.record
    const cursor = this.#cursor
    const at = this.#records++
    if (seq > cursor.seq) this.#above ??= { at, entry }
    const isOurs = cursor.writer !== null && writer === cursor.writer
    if (isOurs) this.#afterWriter = at + 1
    if (seq === cursor.seq) {
      if (isOurs) this.#ours = true
      else this.#others = true
    }
    if (action === 'journal_note' && payload?.['kind'] === 'producer_started') this.#started = at
  }

  start(): number {
    if (this.#isRewound()) return this.#afterWriter ?? this.#started ?? 0
    return this.#above?.at ?? this.#records
  }

  gap(firstHanded: number | undefined): Gap | undefined {
    const { seq } = this.#cursor
    const { head } = this.#whole
    if (this.#isRewound()) {
      return { from: Math.min(firstHanded ?? head + 1, seq), to: seq, reason: 'rewound' }
    }
    if (this.#above === undefined) return undefined
    const { record, segment } = this.#above.entry
    const gap = missingBetween(seq, record.seq, segment)
    return gap && segment === this.#whole.first ? { ...gap, reason: 'archived' } : gap
  }

  #isRewound(): boolean {
    const { seq, writer } = this.#cursor
    const { head, isEndHidden } = this.#whole
    return (seq > head && !isEndHidden) || (writer !== null && this.#others && !this.#ours)
  }
}
