import type { JsonObject } from '@kim/manifest'

/** What a running producer can be asked to do. Whatever settles has been synced by then (CP-6). */
export interface ControlVerbs {
  /** The last durable seq. */
  headSeq(): number
  /** Makes one persona due, or all of them; says how many are. */
  poke(persona: string | undefined): number
  status(): JsonObject
  /** Rolls and writes a checkpoint. */
  checkpoint(): Promise<JsonObject>
  /** Parks what is due for it, or says what would be. */
  gc(dryRun: boolean): Promise<JsonObject>
  /** A clean stop; called once, after the reply. */
  shutdown(): void
}
