/** What an implementation is judged by: the result of a full scan, and that of a cold start (OB-61). */
import { type AnomalyKind, type Cursor, nextTurn, parseCursor, runAtOnce } from '@kim/manifest'
import { type Flaw, type Gap, RecordSource, type Snapshot, type Start } from '@kim/observer-sdk/history'
import { State } from '@kim/observer-sdk/internal'
import { runWork } from './run-work.js'

/** What a cold start comes to. */
export interface ColdResult {
  readonly cursor: Cursor
  readonly digest: string
  readonly entities: number
  readonly gap: Gap | null
  readonly head_seq: number
  readonly registry_authoritative: boolean
}

/** What was met on the way: a result is no verdict, and says nothing of it. */
export interface ColdTrouble {
  /** Anomalies of the part that was read. */
  readonly counts: ReadonlyMap<AnomalyKind, number>
  /** Files and folders that are there and could not be read. */
  readonly unreadable: number
}

/** Opens as an observer does, follows nothing, and says what it holds. */
export async function coldStart(
  eventsDir: string,
  storedCursor?: unknown,
  signal?: AbortSignal,
): Promise<ColdResult> {
  return (await coldLook(eventsDir, storedCursor, signal)).result
}

/** The same, with what it met. */
export async function coldLook(
  eventsDir: string,
  storedCursor?: unknown,
  signal?: AbortSignal,
): Promise<{ readonly result: ColdResult; readonly trouble: ColdTrouble }> {
  const source = new RecordSource(eventsDir)
  const snapshot = await runWork(source.derive(), signal)
  const cursor = parseCursor(storedCursor)
  const start = cursor === undefined ? undefined : await startOf(source, cursor, snapshot, signal)
  // Derived anew without all that was found so far: of the last alone, the ones before would come back, without end.
  let known: readonly Flaw[] = []
  const state = new State(snapshot.fold, {
    blob: ref => source.blob(ref),
    onBlob: () => {},
    onFlaws: flaws => {
      known = [...known, ...flaws]
      return runAtOnce(source.derive({ flaws: known, until: snapshot.end })).fold
    },
  })
  // The digest first: it reads every payload, and so settles how many entities there are.
  const digest = state.digest()
  await nextTurn(signal)
  const result = {
    cursor: { checkpoint_seq: snapshot.checkpointSeq, ...snapshot.head },
    digest,
    entities: state.size,
    gap: start?.gap ?? null,
    head_seq: snapshot.head.seq,
    registry_authoritative: snapshot.registryAuthoritative,
  }
  const { counts, unreadable, failures } = snapshot
  return { result, trouble: { counts, unreadable: Math.max(unreadable, failures) } }
}

async function startOf(
  source: RecordSource,
  cursor: Cursor,
  snapshot: Snapshot,
  signal: AbortSignal | undefined,
): Promise<Start | undefined> {
  return source.look().exists ? await runWork(source.locate(cursor, snapshot), signal) : undefined
}
