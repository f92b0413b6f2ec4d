import { canonicalJson, entitiesDigest, type Live, sha256 } from './canonical.js'

/** The bytes of the files below `events/`, by path; null where there is no such directory. */
export type Files = Readonly<Record<string, string | Uint8Array>>

export interface VectorCursor {
  readonly checkpoint_seq: number
  readonly seq: number
  readonly writer: string | null
}

/** What a reader must find, stated by hand. What is left out has the value that most cases share. */
export interface Facts {
  /** Every entity that is live at the end. Default: none. */
  readonly live?: readonly Live[]
  /** Default: 0. */
  readonly head?: number
  /** Of the head's record. Default: the usual writer if there is a head. */
  readonly writer?: string | null
  /** Head of the newest verified checkpoint. Default: 0. */
  readonly checkpoint?: number
  readonly anomalies?: Readonly<Record<string, number>>
  readonly activity?: readonly number[]
  readonly news?: readonly (readonly [seq: number, wake: string])[]
  readonly sections?: Readonly<Record<string, readonly string[]>>
  readonly attention?: number
  readonly gap?: { readonly from: number; readonly reason: string; readonly to: number }
  readonly registry?: boolean
  /** Default: live. */
  readonly status?: 'no_store' | 'degraded' | 'incomplete' | 'incomplete and degraded'
  /** Default: 0. */
  readonly verify?: number
}

/** One conformance vector. */
export interface Vector {
  /** Folder name: what is the matter with the bytes. */
  readonly name: string
  /** One line for the table in the README. */
  readonly shows: string
  /** Rows of recovery.md and clauses of the specification. */
  readonly cites: readonly string[]
  readonly files: Files | null
  readonly cursor?: VectorCursor
  readonly facts: Facts
}

/** The writer of every record that names no other. */
export const river1 = 'w_101-a1b2c3'
/** The writer after a restart, or a second one that should not have been. */
export const river2 = 'w_202-d4e5f6'

/** An entity that is live with this payload. */
export function live(type: string, id: string, rev: number | null, payload: object): Live {
  return { type, id, rev, hash: sha256(canonicalJson(payload)) }
}

/** An entity that is live with a payload in a blob of this hash. */
export function liveRef(type: string, id: string, rev: number | null, hash: string): Live {
  return { type, id, rev, hash }
}

const statuses: Record<string, { kind: string; reasons: string[] }> = {
  live: { kind: 'live', reasons: [] },
  no_store: { kind: 'no_store', reasons: [] },
  degraded: { kind: 'degraded', reasons: ['future'] },
  incomplete: { kind: 'incomplete', reasons: ['history'] },
  'incomplete and degraded': { kind: 'incomplete', reasons: ['future', 'history'] },
}

/** The text of `expect.json`: the facts with their defaults, and the digest of the entities they name. */
export function expectText(facts: Facts): string {
  const { live: entities = [], head = 0, writer = head === 0 ? null : river1, checkpoint = 0 } = facts
  const expected = {
    activity: facts.activity ?? [],
    anomalies: sortedByKey(facts.anomalies ?? {}),
    attention_required: facts.attention ?? 0,
    cursor: { checkpoint_seq: checkpoint, seq: head, writer },
    digest: entitiesDigest(entities),
    entities: entities.length,
    gap: facts.gap ?? null,
    head_seq: head,
    news: (facts.news ?? []).map(([seq, wake]) => ({ seq, wake })),
    registry_authoritative: facts.registry ?? false,
    sections: sortedByKey(facts.sections ?? {}),
    status: statuses[facts.status ?? 'live'],
    verify_exit: facts.verify ?? 0,
  }
  return `${JSON.stringify(expected, null, 2)}\n`
}

function sortedByKey<T>(members: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)))
}
