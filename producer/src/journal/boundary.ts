import {
  type CheckpointHeader,
  type KeyEntry,
  parseSegmentName,
  type Revision,
  revisionsInOrder,
} from '@kim/manifest'
import type { JournalState } from './state.js'

/** A sealed segment as its seal states it. */
export interface Sealed {
  readonly segment: string
  readonly bytes: number
  readonly sha256: string
  readonly first_seq: number
  readonly last_seq: number
}

/** What the journal was at the end of its last sealed segment: all that a checkpoint says besides its entities. */
export interface Boundary {
  readonly sealed: Pick<Sealed, 'segment' | 'sha256'>
  /** The number of the sealed segment. */
  readonly segment: number
  readonly headSeq: number
  readonly headWriter: string | null
  readonly entityCount: number
  readonly capabilities: readonly string[]
  readonly revisions: readonly Revision[]
  readonly keys: readonly KeyEntry[]
}

/** What a checkpoint says about the end of what it covers. */
export function boundaryOf(header: CheckpointHeader): Boundary {
  const { chain, head_seq, head_writer, entity_count, capabilities, revisions, keys } = header
  return {
    sealed: chain,
    segment: parseSegmentName(chain.segment) ?? 0,
    headSeq: head_seq,
    headWriter: head_writer,
    entityCount: entity_count,
    capabilities,
    revisions,
    keys,
  }
}

/** Takes down what the state is now, before the next segment's first record. */
export function takeBoundary(state: JournalState, segment: number, sealed: Sealed): Boundary {
  state.keys.forget()
  return {
    sealed,
    segment,
    headSeq: state.head.seq,
    headWriter: state.head.writer,
    entityCount: state.size,
    capabilities: [...state.capabilities].sort(),
    revisions: revisionsInOrder(state.removedRevisions()),
    keys: state.keys.entries(),
  }
}
