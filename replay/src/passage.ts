/** Which records between two moments changed which entity. */
import type { PassOptions } from '@kim/observer-sdk/verify'
import type { CopiedJournal } from './copied-journal.js'
import type { Missing } from './damage.js'
import { walkLines } from './line-walk.js'
import { endingAt, type Stop } from './point.js'
import { paceFrom, type StateAt } from './state-at.js'

/** What happened to one entity. */
export interface Touched {
  readonly item_type: string
  readonly item_id: string
  readonly owner: string | undefined
  /** Of the records that changed it, in file order. */
  readonly seqs: number[]
}

/** What happened between two moments. */
export interface Passage {
  readonly touched: readonly Touched[]
  /** Records that had their effect. */
  readonly records: number
  readonly missing: Missing
}

/** Reads on from one moment to a later one. The state of the one becomes that of the other. */
export async function readOn(
  journal: CopiedJournal,
  { reading, payloads }: StateAt,
  to: Stop,
  options: PassOptions,
): Promise<Passage> {
  const touched = new Map<string, Map<string, Touched>>()
  let records = 0
  const from = reading.stoppedAt
  reading.resume({
    ...endingAt(to),
    applied: ({ record, effect, before }) => {
      records += 1
      const { item_type, item_id, seq } = record
      if (item_id === undefined || (effect !== 'upsert' && effect !== 'remove')) return
      const image = reading.entities.get(item_type, item_id) ?? before
      const ofType = touched.get(item_type) ?? new Map<string, Touched>()
      touched.set(item_type, ofType)
      const known = ofType.get(item_id)
      if (known !== undefined) known.seqs.push(seq)
      else {
        const owner = image === undefined ? record.agent : payloads.facts(image).owner
        ofType.set(item_id, { item_type, item_id, owner, seqs: [seq] })
      }
    },
  })
  if (from !== undefined) await walkLines(journal, reading, paceFrom(journal, from, options), from)
  return {
    touched: [...touched.values()].flatMap(ofType => [...ofType.values()]),
    records,
    missing: reading.damage.close(journal, payloads.need(reading.entities.images()).faults),
  }
}
