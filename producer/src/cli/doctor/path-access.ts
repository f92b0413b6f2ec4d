import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemCode } from '../../journal/disk-errors.js'

/** The path, or the nearest directory above it that exists. */
export function nearestExisting(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearestExisting(dirname(path))
}

const MODES: Readonly<Record<string, number>> = { r: constants.R_OK, w: constants.W_OK, x: constants.X_OK }

/** The error code of the system if this process lacks one of these permissions; otherwise undefined. */
export function accessError(path: string, permissions: 'w' | 'rw' | 'rx' | 'wx'): string | undefined {
  const mode = [...permissions].reduce((all, one) => all | (MODES[one] ?? 0), 0)
  try {
    accessSync(path, mode)
    return undefined
  } catch (error) {
    return systemCode(error) ?? String(error)
  }
}
