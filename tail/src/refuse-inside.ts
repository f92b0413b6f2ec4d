import { type StoreLocation, usageError } from '@kim/cli-kit'
import { isInsideStore } from '@kim/observer-sdk/history'

/** Refuses to write at or below what is observed: a reader must not disturb the store, whatever its flags say. */
export function refuseInside(location: StoreLocation, path: string, flag: string): void {
  if (!isInsideStore(location, path)) return
  throw usageError(
    `${flag} would write inside the store, which kim-tail only reads: ${path}`,
    'name a path outside the store',
  )
}
