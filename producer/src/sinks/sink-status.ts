/** A lane that does not come further; a type and no interface, so that it counts as JSON. */
export type HeldLane = {
  /** '' for a sink with a single place. */
  readonly lane: string
  /** What it took last. */
  readonly seq: number
  /** Why it takes nothing more; null while it catches up. */
  readonly why: string | null
  readonly tries: number
  /** For how long it has been refusing; 0 while it catches up. */
  readonly for_ms: number
}

/** How one sink is, for `status`, health and metrics. */
export type SinkStatus = {
  /** The kind of sink. */
  readonly sink: string
  /** Which one of its kind. */
  readonly identity: string
  /** `off`: its watermark cannot be read, so that it delivers nothing. */
  readonly state: 'working' | 'held' | 'off'
  readonly why: string | null
  /** Every lane that is not held has dealt with everything up to here; null where that is unknown. */
  readonly seq: number | null
  /** Records behind what is durable, by the lane that is furthest behind. */
  readonly behind: number | null
  /** For how long something has been waiting to be delivered. */
  readonly lag_ms: number
  /** Runs of records that were gone before they could be delivered, by reason. */
  readonly gaps: Readonly<Record<string, number>>
  /** How many lanes are held. */
  readonly held: number
  /** Those of them that are furthest behind. */
  readonly lanes: readonly HeldLane[]
}

/** The kind of the sink whose watermark is kept under these words. */
export function sinkKind(identity: string): string {
  if (!identity.startsWith('file:')) return identity
  return identity.includes('{persona}') ? 'events-file-template' : 'events-file'
}
