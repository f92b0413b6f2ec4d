import { lstatSync } from 'node:fs'

/** A file as it stands under its path. */
export interface FileNow {
  readonly identity: string
  readonly size: number
}

/** Which file stands under a path, and how long it is; undefined if none can be seen. */
export function fileIdentityOf(path: string): FileNow | undefined {
  try {
    const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
    if (stat === undefined) return undefined
    return { identity: `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`, size: Number(stat.size) }
  } catch {
    return undefined
  }
}
