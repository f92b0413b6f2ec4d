import { mkdtempSync, readFileSync, rmSync, statfsSync, watch } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { formatBytes } from '@kim/cli-kit'
import { limits } from '@kim/manifest'
import { type Check, failing, fine, nearestExisting, unseen, warning } from './check.js'

const NODE_LEAST = [20, 19] as const

/** Is Node new enough? */
const nodeVersionCheck: Check = {
  id: 'node',
  look: () => {
    const { node } = process.versions
    const [major = 0, minor = 0] = node.split('.').map(Number)
    const [majorLeast, minorLeast] = NODE_LEAST
    if (major > majorLeast || (major === majorLeast && minor >= minorLeast)) return fine(`node ${node}`)
    return failing(
      `node ${node}; ${NODE_LEAST.join('.')} or newer is needed`,
      'install a newer Node, then run kim-producer install-service again with the same flags',
    )
  },
}

/** Room for a segment, its checkpoint and the copy that redaction makes. */
const LEAST_BYTES = limits.segmentBytesMax * 4
const COMFORT_BYTES = limits.segmentBytesMax * 50

/** Is there space for the journal to grow? */
const diskCheck: Check = {
  id: 'disk',
  look: ({ paths }) => {
    const path = nearestExisting(paths.root)
    const { bavail, bsize, files, ffree } = statfsSync(path)
    const free = bavail * bsize
    const evidence = `${formatBytes(free)} free at ${path}`
    const remedy = 'free some disk space; a running producer then continues by itself'
    if (files > 0 && ffree === 0) return failing(`${evidence}, but no inode is free`, remedy)
    if (free < LEAST_BYTES) return failing(evidence, remedy)
    return free < COMFORT_BYTES ? warning(evidence, remedy) : fine(evidence)
  },
}

/** The `statfs` numbers of network file systems and of those that run as a program. */
const REMOTE: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x517b, 'SMB'],
  [0x65735546, 'FUSE'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
])

/** Is the store on a local disk? Locks and syncs of a network file system guarantee less than the journal needs. */
const fileSystemCheck: Check = {
  id: 'file-system',
  look: ({ paths }) => {
    if (process.platform !== 'linux') return unseen('only Linux shows this')
    const path = nearestExisting(paths.root)
    const name = REMOTE.get(statfsSync(path).type >>> 0)
    if (name === undefined) return fine('a local file system')
    return warning(
      `${path} is on ${name}: locks and syncs may be unreliable, and readers get no notifications`,
      'stop the producer, move the store to a local disk, and start with --store DIR; until then readers poll once a second',
    )
  },
}

/** Fewer than these, an editor or two use up. */
const WATCHES_COMFORT = 8192

/** Does the system notify readers of new records? Without a watch a reader reads later. */
const inotifyCheck: Check = {
  id: 'inotify',
  look: () => {
    if (process.platform !== 'linux') return unseen('only Linux has these limits')
    const limit = (name: string): number => Number(readFileSync(`/proc/sys/fs/inotify/${name}`, 'utf8'))
    const most = limit('max_user_watches')
    const instances = Math.max(512, 2 * limit('max_user_instances'))
    const remedy = `sudo sysctl fs.inotify.max_user_watches=${Math.max(524288, 2 * most)} fs.inotify.max_user_instances=${instances}`
    const refusal = tryWatch()
    if (refusal !== undefined)
      return failing(`the system refused a watch (${refusal}): readers poll instead`, remedy)
    if (most >= WATCHES_COMFORT) return fine(`the system allows a watch; the limit is ${most}`)
    return warning(`an editor can use up the limit of ${most} watches: readers then poll instead`, remedy)
  },
}

function tryWatch(): string | undefined {
  const dir = mkdtempSync(join(tmpdir(), 'kim-doctor-'))
  try {
    watch(dir).close()
    return undefined
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** If the clocks of two machines differ more than this, ages mean nothing. */
const SKEW_MS_MAX = 60_000
/** What was received earlier says nothing about the clock of today. */
const RECENT_MS = 86_400_000

/** Does this machine's clock agree with the server's? */
export const clockCheck: Check = {
  id: 'clock',
  look: async context => {
    const observer = await context.observer()
    if (observer === undefined) return unseen('there is no store')
    const sinceMs = Date.now() - RECENT_MS
    const ahead = [...observer.state.values('message')].reduce((most, { ts, payload }) => {
      const created = payload !== undefined && 'created' in payload ? payload['created'] : undefined
      const seenMs = Date.parse(ts ?? '')
      const skew = Date.parse(String(created)) - seenMs
      return Number.isNaN(skew) || seenMs < sinceMs ? most : Math.max(most, skew)
    }, Number.NEGATIVE_INFINITY)
    if (ahead === Number.NEGATIVE_INFINITY) return unseen('no message of the last day has a creation time')
    if (ahead <= SKEW_MS_MAX) return fine('in the last day, no message was received before it was created')
    return warning(
      `in the last day, this machine's clock was at least ${Math.round(ahead / 1000)} s behind the server's: a message arrived before it was created`,
      process.platform === 'linux'
        ? 'if timedatectl says that it is not synchronized: timedatectl set-ntp true'
        : 'synchronize the clock of this machine, if it is not',
    )
  },
}

/** Checks of this machine. */
export const machineChecks: readonly Check[] = [nodeVersionCheck, diskCheck, fileSystemCheck, inotifyCheck]
