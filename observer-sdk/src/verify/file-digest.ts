import { isCount, isJsonObject, isSha256 } from '@kim/manifest'

/** Length and hash of a file's content. */
export interface FileDigest {
  readonly bytes: number
  /** Lower-case hex. */
  readonly sha256: string
}

/** The digest that a note states, if it is one. */
export function digestIn(value: unknown): FileDigest | undefined {
  if (!isJsonObject(value)) return undefined
  const { bytes, sha256 } = value
  return isCount(bytes) && isSha256(sha256) ? { bytes, sha256 } : undefined
}

/** Whether two digests are of the same content. */
export function isSameDigest(a: FileDigest, b: FileDigest): boolean {
  return a.sha256 === b.sha256 && a.bytes === b.bytes
}
