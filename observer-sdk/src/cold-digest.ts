/** What an observer would begin with: the state of a journal now, and what a cursor would miss. */
import { type AnomalyKind, type Cursor, nextTurn, parseCursor, runAtOnce, runInTurns } from '@kim/manifest'
import { State } from './project/state.js'
import type { Gap } from './tail/locate.js'
import { RecordSource } from './tail/record-source.js'
import type { Flaw } from './tail/stored-image.js'

/** The state of a journal, as far as two readers that agree have the same (OB-61). */
export interface ColdStart {
  readonly cursor: Cursor
  /** The projection digest of the live entities. */
  readonly digest: string
  /** How many live entities there are. */
  readonly entities: number
  /** What a consumer with the given cursor would miss. */
  readonly gap: Gap | null
  readonly head_seq: number
  readonly registry_authoritative: boolean
}

/** What was found on the way: the result does not contain it. */
export interface ColdStartDamage {
  /** Anomalies of the part that was read. */
  readonly anomalies: ReadonlyMap<AnomalyKind, number>
  /** How many files and folders are there and cannot be read. */
  readonly unreadable: number
}

/** Opens a journal as an observer does, follows nothing, and returns the state. `storedCursor` is any JSON value. */
export async function coldStart(
  eventsDir: string,
  storedCursor?: unknown,
  signal?: AbortSignal,
): Promise<{ readonly result: ColdStart; readonly damage: ColdStartDamage }> {
  const source = new RecordSource(eventsDir)
  const snapshot = await runInTurns(source.derive(), signal)
  const cursor = parseCursor(storedCursor)
  const hasPlace = cursor !== undefined && source.look().exists
  const start = hasPlace ? await runInTurns(source.locate(cursor, snapshot), signal) : undefined
  // Each attempt gets all flaws found so far; of the last ones alone, the earlier ones would come back without end.
  let known: readonly Flaw[] = []
  const state = new State(snapshot, {
    blob: ref => source.blob(ref),
    onBlob: () => {},
    onFlaws: flaws => {
      known = [...known, ...flaws]
      return runAtOnce(source.derive({ flaws: known, until: snapshot.end }))
    },
  })
  // The digest first: it reads every payload, and so settles how many entities there are.
  const digest = state.digest()
  await nextTurn(signal)
  const { counts: anomalies, unreadable, failures, head, checkpointSeq, registryAuthoritative } = snapshot
  const result = {
    cursor: { checkpoint_seq: checkpointSeq, ...head },
    digest,
    entities: state.size,
    gap: start?.gap ?? null,
    head_seq: head.seq,
    registry_authoritative: registryAuthoritative,
  }
  return { result, damage: { anomalies, unreadable: Math.max(unreadable, failures) } }
}
