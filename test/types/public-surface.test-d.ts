// Compiled, never run: a change of what hosts see of the SDK fails here, key by key.
import type { AnomalyKind, JsonObject, PayloadRef, ReadRecord } from '@kim/manifest'
import type * as namespace from '@kim/observer-sdk'
import type {
  Board,
  Change,
  Cursor,
  CursorStore,
  EntityView,
  Evidence,
  fileCursors,
  Gap,
  Impact,
  JournalLine,
  MementoLike,
  mementoCursors,
  memoryCursors,
  Observer,
  ObserverOptions,
  ObserverStatus,
  openObserver,
  PersonaView,
  StateView,
} from '@kim/observer-sdk'
import type { Assert, Equal } from './equal.js'

/** The values of the door. A verb that writes has no place among them. */
type Values =
  | 'KimError'
  | 'coldStart'
  | 'defaultStore'
  | 'fileCursors'
  | 'isMail'
  | 'mementoCursors'
  | 'memoryCursors'
  | 'openObserver'
  | 'openTail'
  | 'safeJson'
  | 'safeText'
  | 'sectionsOf'

export type Assertions = [
  Assert<Equal<keyof typeof namespace, Values>>,
  Assert<Equal<typeof openObserver, (options: ObserverOptions) => Promise<Observer>>>,
  Assert<Equal<typeof namespace.openObserver, typeof openObserver>>,
  Assert<Equal<typeof namespace.openTail, (options: namespace.TailOptions) => Promise<namespace.RecordTail>>>,
  Assert<
    Equal<
      keyof namespace.RecordTail,
      | 'status'
      | 'head'
      | 'checkpointSeq'
      | 'projectId'
      | 'eventsDir'
      | 'changes'
      | 'payloadOf'
      | 'onStatus'
      | 'onIdle'
      | 'close'
      | typeof Symbol.asyncDispose
    >
  >,
  Assert<Equal<Awaited<ReturnType<typeof import('@kim/observer-sdk').openObserver>>, Observer>>,
  Assert<Equal<typeof memoryCursors, () => CursorStore>>,
  Assert<Equal<typeof fileCursors, (directory: string) => CursorStore>>,
  Assert<Equal<typeof mementoCursors, (memento: MementoLike) => CursorStore>>,
  Assert<
    Equal<
      keyof Observer,
      | 'status'
      | 'head'
      | 'state'
      | 'activity'
      | 'anomalies'
      | 'personas'
      | 'persona'
      | 'board'
      | 'digest'
      | 'projectId'
      | 'eventsDir'
      | 'changes'
      | 'onInvalidate'
      | 'waitFor'
      | 'checkpointSeq'
      | 'payloadOf'
      | 'onStatus'
      | 'onIdle'
      | 'close'
      | typeof Symbol.asyncDispose
    >
  >,
  Assert<Equal<Pick<Observer, 'status'>, { readonly status: ObserverStatus }>>,
  Assert<
    Equal<Pick<Observer, 'head'>, { readonly head: { readonly seq: number; readonly writer: string | null } }>
  >,
  Assert<Equal<Pick<Observer, 'state'>, { readonly state: StateView }>>,
  Assert<Equal<Pick<Observer, 'activity'>, { readonly activity: readonly ReadRecord[] }>>,
  Assert<
    Equal<Pick<Observer, 'anomalies'>, { readonly anomalies: Readonly<Partial<Record<AnomalyKind, number>>> }>
  >,
  Assert<Equal<Pick<Observer, 'projectId'>, { readonly projectId: string }>>,
  Assert<Equal<ReturnType<Observer['personas']>, readonly string[]>>,
  Assert<Equal<Parameters<Observer['persona']>, [name: string]>>,
  Assert<Equal<ReturnType<Observer['persona']>, PersonaView>>,
  Assert<Equal<ReturnType<Observer['board']>, Board>>,
  Assert<Equal<ReturnType<Observer['digest']>, string>>,
  Assert<Equal<ReturnType<Observer['changes']>, AsyncGenerator<Change, void, undefined>>>,
  Assert<Equal<Parameters<Observer['onInvalidate']>, [callback: (stale: Impact) => void]>>,
  Assert<Equal<ReturnType<Observer['onInvalidate']>, () => void>>,
  Assert<Equal<ReturnType<Observer['waitFor']>, Promise<void>>>,
  Assert<Equal<ReturnType<Observer['close']>, Promise<void>>>,
  Assert<
    Equal<
      keyof ObserverOptions,
      'eventsDir' | 'storeDir' | 'cursors' | 'projectId' | 'from' | 'seed' | 'activityLimit' | 'signal'
    >
  >,
  Assert<
    Equal<
      ObserverStatus,
      {
        readonly kind: 'live' | 'no_store' | 'degraded' | 'incomplete' | 'closed'
        readonly reasons: readonly string[]
      }
    >
  >,
  // State is there to be read: nothing of it can be assigned, added or removed.
  Assert<Equal<keyof StateView, 'size' | 'get' | 'values'>>,
  Assert<Equal<Pick<StateView, 'size'>, { readonly size: number }>>,
  Assert<Equal<ReturnType<StateView['get']>, EntityView | undefined>>,
  Assert<Equal<ReturnType<StateView['values']>, IterableIterator<EntityView>>>,
  Assert<
    Equal<
      { [Key in keyof EntityView]: EntityView[Key] },
      {
        readonly itemType: string
        readonly itemId: string
        readonly entityRev: number | undefined
        readonly seq: number | undefined
        readonly ts: string | undefined
        readonly agent: string | undefined
        readonly payload: JsonObject | undefined
        readonly unavailable: PayloadRef | undefined
      }
    >
  >,
  Assert<
    Equal<
      { [Key in keyof Change]: Change[Key] },
      {
        readonly records: readonly ReadRecord[]
        readonly lines: readonly JournalLine[]
        readonly news: readonly ReadRecord[]
        readonly gap: Gap | undefined
        readonly cursor: Cursor
        readonly itemTypes: readonly string[]
        readonly sections: readonly string[]
        readonly personas: readonly string[]
        readonly attentionChanged: boolean
      }
    >
  >,
  Assert<
    Equal<
      { [Key in keyof Gap]: Gap[Key] },
      { readonly from: number; readonly to: number; readonly reason: 'archived' | 'missing' | 'rewound' }
    >
  >,
  Assert<
    Equal<
      { [Key in keyof Cursor]: Cursor[Key] },
      { readonly seq: number; readonly checkpoint_seq: number; readonly writer: string | null }
    >
  >,
  Assert<Equal<keyof CursorStore, 'load' | 'save' | 'directory'>>,
  Assert<
    Equal<
      { [Key in keyof PersonaView]: PersonaView[Key] },
      {
        readonly persona: string
        readonly known: boolean
        readonly unread: number
        readonly newest: readonly EntityView[]
        readonly alerts: readonly EntityView[]
        readonly liveness: 'up' | 'down' | 'stale' | 'unknown'
        readonly evidence: Evidence | undefined
        readonly attention: number
      }
    >
  >,
  Assert<
    Equal<
      keyof Board,
      'sections' | 'counts' | 'attentionRequired' | 'attentionDegraded' | 'registryAuthoritative' | 'degraded'
    >
  >,
]
