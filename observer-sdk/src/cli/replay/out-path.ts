import { resolve } from 'node:path'
import { type Input, usageError } from '@kim/cli-kit'
import { outPlace } from '../../replay/output/out-place.js'
import { refuseInside } from '../tail/store-location.js'

/** Where `--out` leads: never to or below what is read. */
export function outPath(input: Input, eventsDir: string): string {
  const out = input.text('out')
  if (out === undefined) throw usageError('--out is missing', 'name the file to write: --out FILE')
  refuseInside({ eventsDir, storeDir: undefined }, out, '--out')
  outPlace(out)
  return resolve(out)
}
