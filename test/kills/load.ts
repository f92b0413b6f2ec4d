import type { AppendOptions, Draft } from '@kim/producer/internal'

/** What a batch is made of. All of it follows from these, so that another process can ask for the same again. */
export interface Batch {
  /** Which process of this store asked for it first. */
  readonly life: number
  /** Counts the batches of that life. */
  readonly no: number
  readonly kind: Kind
  readonly records: number
}

export type Kind = 'plain' | 'tx' | 'keyed' | 'keyed-tx' | 'blob'

/** A batch as one word; a record of it is this word and its place in the batch. */
export const batchName = ({ life, no, kind, records }: Batch): string => `${life}.${no}.${kind}.${records}`

/** The name that stands in the summary of a record, by which it is counted afterwards. `at` begins at 1. */
export const recordName = (batch: string, at: number): string => `${batch}.${at}`

export function parseBatch(name: string): Batch {
  const [life, no, kind, records] = name.split('.')
  return { life: Number(life), no: Number(no), kind: kind as Kind, records: Number(records) }
}

/** The batch and the place of a record that the load asked for; undefined for one the journal made itself. */
export function parseRecord(summary: unknown): { readonly batch: string; readonly at: number } | undefined {
  if (typeof summary !== 'string' || !/^\d+\.\d+\.[a-z-]+\.\d+\.\d+$/.test(summary)) return undefined
  const cut = summary.lastIndexOf('.')
  return { batch: summary.slice(0, cut), at: Number(summary.slice(cut + 1)) }
}

export const isKeyed = ({ kind }: Batch): boolean => kind === 'keyed' || kind === 'keyed-tx'

export const optionsOf = ({ kind }: Batch): AppendOptions => ({ tx: kind === 'tx' || kind === 'keyed-tx' })

/** More than fits in a line, so it goes to a blob. */
const BLOB_CHARS = 70_000

/** The drafts of a batch: mostly messages of their own, between them changes and removals of shared entities. */
export function draftsOf(batch: Batch): Draft[] {
  const name = batchName(batch)
  return Array.from({ length: batch.records }, (_, index) => {
    const summary = recordName(name, index + 1)
    const draft = describe(batch, index, summary)
    return isKeyed(batch) ? { ...draft, key: `key ${summary}` } : draft
  })
}

function describe(batch: Batch, index: number, summary: string): Draft {
  const shared = `shared-${batch.no % 9}`
  if (batch.no === 0) return persona(summary)
  if (index % 7 === 5) {
    const payload = { text: summary, status: 'pending', schema_version: 1 }
    return { agent: 'loom', action: 'update', item_type: 'candidate', item_id: shared, summary, payload }
  }
  if (index % 7 === 6) {
    return { agent: 'loom', action: 'delete', item_type: 'candidate', item_id: shared, summary }
  }
  return message(batch, index, summary)
}

function persona(summary: string): Draft {
  const numbers = { cursor: 0, floor: 0, unread_urgent: 0 }
  const payload = { persona: 'river', ...numbers, state: 'up', watched: true, schema_version: 1 }
  return { agent: 'river', action: 'update', item_type: 'persona', item_id: 'river', summary, payload }
}

function message({ life, no, kind }: Batch, index: number, summary: string): Draft {
  // Ids ascend with the lives, as a server's would.
  const id = (life * 100_000 + no) * 1000 + index + 1
  const content = kind === 'blob' ? summary.padEnd(BLOB_CHARS, 'x') : `tests are green: ${summary}`
  return {
    agent: 'river',
    action: 'create',
    item_type: 'message',
    item_id: `river/${id}`,
    summary,
    event: 'new',
    payload: {
      persona: 'river',
      id,
      from: 'argus',
      content,
      content_length: content.length,
      created: '2026-06-10T14:03:21Z',
      read: true,
      schema_version: 1,
    },
  }
}
