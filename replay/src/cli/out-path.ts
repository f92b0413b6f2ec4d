import { resolve } from 'node:path'
import { type Input, usageError } from '@kim/cli-kit'
import { isInsideStore } from '@kim/observer-sdk/history'
import { outPlace } from '../output/out-place.js'

/** Where `--out` leads: never to or below what is read. */
export function outPath(input: Input, eventsDir: string): string {
  const out = input.text('out')
  if (out === undefined) throw usageError('--out is missing', 'name the file to write: --out FILE')
  if (isInsideStore({ eventsDir }, out))
    throw usageError(
      `--out would write inside the store, which kim-replay only reads: ${out}`,
      'name a path outside the store',
    )
  outPlace(out)
  return resolve(out)
}
