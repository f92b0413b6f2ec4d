import { statSync } from 'node:fs'
import { type ConsumerCursor, limits } from '@kim/manifest'
import { consumerPath, listConsumers, readConsumer } from './consumer-file.js'

/** What can be told about a named consumer of `kim-tail` without asking it. */
export interface Consumer {
  readonly consumer: string
  /** Null if its file is damaged, or it never began. */
  readonly seq: number | null
  /** How far the head is ahead, in seqs; null if that cannot be told. */
  readonly behind: number | null
  /** Whether a process holds its name now. */
  readonly in_use: boolean
  /** Its file. */
  readonly file: string
}

/** Which consumers are asked about, and how far their journal has come. */
export interface ConsumersQuery {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly projectId: string
  readonly headSeq: number
  /** This one alone, whatever its journal. */
  readonly only?: string | undefined
  readonly nowMs?: number
}

/** The consumers of a journal that this user has, by name. One whose file is damaged may be of any journal, so it is told. */
export function consumersOf({
  env,
  projectId,
  headSeq,
  only,
  nowMs = Date.now(),
}: ConsumersQuery): Consumer[] {
  const names = only === undefined ? listConsumers(env) : [only]
  return names.flatMap(consumer => {
    const file = consumerPath(env, consumer)
    const cursor = readCursorFile(file)
    if (only === undefined && cursor !== undefined && cursor.projectId !== projectId) return []
    const behind = cursor?.projectId === projectId ? Math.max(0, headSeq - cursor.seq) : null
    return [{ consumer, seq: cursor?.seq ?? null, behind, in_use: isHeld(`${file}.lock`, nowMs), file }]
  })
}

function readCursorFile(path: string): ConsumerCursor | undefined {
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
