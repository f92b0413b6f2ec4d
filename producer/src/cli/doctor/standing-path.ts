import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemCode } from '../../journal/failure.js'

/** The path itself, else what of it stands. */
export function standing(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : standing(dirname(path))
}

/** Why nothing can be made or changed in a directory, in the system's word; undefined if it can. */
export function whyClosed(directory: string): string | undefined {
  return refusal(directory, constants.W_OK | constants.X_OK)
}

/** Why it cannot be seen what a directory holds. */
export function whyUnseen(directory: string): string | undefined {
  return refusal(directory, constants.R_OK | constants.X_OK)
}

/** Why a file cannot be written. */
export function whyUnwritable(file: string): string | undefined {
  return refusal(file, constants.W_OK)
}

/** Why something can be neither read nor changed. */
export function whyShut(path: string): string | undefined {
  return refusal(path, constants.R_OK | constants.W_OK)
}

function refusal(path: string, mode: number): string | undefined {
  try {
    accessSync(path, mode)
    return undefined
  } catch (error) {
    return systemCode(error) ?? String(error)
  }
}
