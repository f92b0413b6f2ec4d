import { statSync } from 'node:fs'
import { limits } from '@kim/manifest'
import { consumerPath, listConsumers, readConsumer } from '../consume/consumer-file.js'
import type { Place } from '../consume/place.js'

/** What can be told about a consumer without asking it. */
export interface ConsumerRow {
  readonly consumer: string
  /** Null if its file is damaged, or it never began. */
  readonly seq: number | null
  /** How far the head is ahead, in seqs; null if that cannot be told. */
  readonly behind: number | null
  /** Whether a process holds its name now. */
  readonly in_use: boolean
}

type Environment = Readonly<Record<string, string | undefined>>

/** The consumers of a journal, or the one that is asked for. */
export function consumerRows(
  env: Environment,
  asked: string | undefined,
  projectId: string,
  headSeq: number,
  nowMs: number = Date.now(),
): ConsumerRow[] {
  const names = asked === undefined ? listConsumers(env) : [asked]
  return names.flatMap(consumer => {
    const path = consumerPath(env, consumer)
    const place = placeIn(path)
    if (asked === undefined && place?.projectId !== projectId) return []
    const seq = place?.seq ?? null
    const behind = place?.projectId === projectId ? Math.max(0, headSeq - place.seq) : null
    return [{ consumer, seq, behind, in_use: isHeld(`${path}.lock`, nowMs) }]
  })
}

function placeIn(path: string): Place | undefined {
  try {
    return readConsumer(path)
  } catch {
    return undefined
  }
}

/** A holder touches its lock more often than it becomes stale. */
function isHeld(lock: string, nowMs: number): boolean {
  try {
    return nowMs - statSync(lock).mtimeMs < limits.consumerLockStaleMsMax
  } catch {
    return false
  }
}
