import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { clientState, type Environment, isCount, isJsonObject, limits } from '@kim/manifest'

/** A named consumer of `kim-tail`, as its file says without asking it. */
export interface ConsumerStatus {
  readonly consumer: string
  /** Null if its file is damaged. */
  readonly seq: number | null
  /** Records that it has still to pass; null where that cannot be told. */
  readonly behind: number | null
  /** Whether a process holds its name now. */
  readonly in_use: boolean
  /** Its file. */
  readonly file: string
}

const SUFFIX = '.json'

/** The consumers of this journal that this user has, by name, and those whose file is damaged. */
export function consumersOf(
  env: Environment,
  home: string,
  journal: { readonly projectId: string; readonly headSeq: number },
  nowMs: number,
): ConsumerStatus[] {
  const directory = join(clientState(env, home, 'kim-tail'), 'cursors')
  return namesIn(directory).flatMap(consumer => {
    const file = join(directory, `${consumer}${SUFFIX}`)
    const place = placeIn(file)
    if (place !== undefined && place.projectId !== journal.projectId) return []
    const seq = place?.seq ?? null
    const behind = seq === null ? null : Math.max(0, journal.headSeq - seq)
    return [{ consumer, seq, behind, in_use: isHeld(`${file}.lock`, nowMs), file }]
  })
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter(name => name.endsWith(SUFFIX) && !name.startsWith('.'))
      .map(name => name.slice(0, -SUFFIX.length))
      .sort()
  } catch {
    return []
  }
}

function placeIn(file: string): { readonly seq: number; readonly projectId: string } | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (!isJsonObject(value)) return undefined
    const { seq, project_id: projectId } = value
    return isCount(seq) && typeof projectId === 'string' ? { seq, projectId } : undefined
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
