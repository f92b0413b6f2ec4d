import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { decodeLine, KimError, parseSegmentName } from '@kim/manifest'
import { canonicalSource } from '../../../journal/source.js'
import { type Check, fine, unseen } from '../check.js'

const HEAD_BYTES = 4096

/** A store belongs to one server. */
export const sourceIdentity: Check = {
  id: 'source',
  about: 'the store belongs to this server',
  look: ({ hasStore, paths, options }) => {
    if (!hasStore) return unseen('there is no store')
    const recorded = recordedSource(paths.events)
    if (recorded === undefined) return unseen('the note that says so is not among the live segments')
    let given: string
    try {
      given = canonicalSource(options.server.url)
    } catch (error) {
      if (error instanceof KimError) return { status: 'fail', evidence: error.message, remedy: error.hint }
      throw error
    }
    if (canonicalSource(recorded) === given) return fine(given)
    return {
      status: 'fail',
      evidence: `${paths.root} belongs to ${recorded}, not to ${given}`,
      remedy: `give this server another --store, or ask the other: --url ${recorded}`,
    }
  },
}

/** What the genesis note says; it is the first record of the first segment. */
function recordedSource(events: string): string | undefined {
  const first = readdirSync(events).find(name => parseSegmentName(name) === 1)
  if (first === undefined) return undefined
  const fd = openSync(join(events, first), 'r')
  try {
    const bytes = Buffer.alloc(HEAD_BYTES)
    const length = readSync(fd, bytes, 0, HEAD_BYTES, 0)
    const end = bytes.subarray(0, length).indexOf(10)
    const decoded = end === -1 ? undefined : decodeLine(bytes.subarray(0, end))
    const payload = decoded?.kind === 'record' ? decoded.record.payload : undefined
    const source = payload?.['kind'] === 'genesis' ? payload['source'] : undefined
    return typeof source === 'string' ? source : undefined
  } finally {
    closeSync(fd)
  }
}
