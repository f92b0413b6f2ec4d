import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { formatBytes } from '@kim/cli-kit'
import { limits } from '@kim/manifest'
import { type Check, fine } from '../check.js'

/** A segment, its checkpoint and the copy that redaction makes have to fit. */
const LEAST_BYTES = limits.segmentBytesMax * 4
const COMFORT_BYTES = limits.segmentBytesMax * 50

/** A full disk loses nothing, but it stops everything. */
export const diskCheck: Check = {
  id: 'disk',
  about: 'there is space for the journal to grow',
  look: ({ paths }) => {
    let path = paths.root
    while (!existsSync(path)) path = dirname(path)
    const { bavail, bsize, files, ffree } = statfsSync(path)
    const free = bavail * bsize
    const evidence = `${formatBytes(free)} free at ${path}`
    const remedy = 'free some disk space; appending then resumes by itself'
    if (files > 0 && ffree === 0)
      return { status: 'fail', evidence: `${evidence}, but no inode is free`, remedy }
    if (free < LEAST_BYTES) return { status: 'fail', evidence, remedy }
    return free < COMFORT_BYTES ? { status: 'warn', evidence, remedy } : fine(evidence)
  },
}
