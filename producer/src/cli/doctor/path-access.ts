import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemCode } from '../../journal/failure.js'

/** The path itself, else what of it stands. */
export function nearestExisting(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearestExisting(dirname(path))
}

type Access = 'r' | 'w' | 'x'

const MODES: Readonly<Record<Access, number>> = { r: constants.R_OK, w: constants.W_OK, x: constants.X_OK }

/** The system's error code where this process lacks one of these permissions on a path; undefined if it has them all. */
export function accessError(path: string, permissions: 'w' | 'rw' | 'rx' | 'wx'): string | undefined {
  try {
    accessSync(
      path,
      [...permissions].reduce((mode, one) => mode | MODES[one as Access], 0),
    )
    return undefined
  } catch (error) {
    return systemCode(error) ?? String(error)
  }
}
