import type { Host } from '../effects/host.js'
import type { Random } from '../effects/random.js'

/** Names one life of one process: with it, `(seq, writer)` is a record's identity. */
export function newWriterId(host: Host, random: Random): string {
  return `w_${host.pid}-${random.hex(3)}`
}
