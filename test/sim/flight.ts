import type { Draft, Receipt } from '@kim/producer/internal'

/**
 * A batch that was asked for. Acknowledged: all of it must stand. Refused, or told that the
 * journal moved: none of it may. Open: nobody was told
 * what became of it, so a prefix may stand, and of a transaction all or nothing.
 */
export interface Flight {
  readonly drafts: readonly Draft[]
  readonly marks: readonly number[]
  readonly tx: boolean
  /** Batches that share a commit share a number: what stands of them is a prefix of all of them together. */
  readonly commit: number
  /** The latest wall clock that anybody saw when it was asked for. */
  readonly wallMs: number
  fate: 'open' | 'acknowledged' | 'refused' | 'moved'
  receipt: Receipt | undefined
  /** The same batch when it was asked for before, and refused for want of space. */
  readonly before?: Flight
}

/** A batch as a story tells of it. */
export function describe({ marks, tx, drafts }: Flight): string {
  const keys = drafts.map(({ key }, i) => (key === undefined ? `#${marks[i]}` : `#${marks[i]}(${key})`))
  return `${tx ? 'tx ' : ''}${keys.join(' ')}`
}
