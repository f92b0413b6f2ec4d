import { mkdtempSync, readFileSync, rmSync, watch } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Check, fine, unseen } from '../check.js'

/** Below this, an editor or two use them up. */
const WATCHES_COMFORT = 8192

/** A reader that cannot watch still reads, but later. */
export const inotifyCheck: Check = {
  id: 'inotify',
  about: 'readers are notified of new records',
  look: () => {
    if (process.platform !== 'linux') return unseen('only Linux has these limits')
    const remedy = 'sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512'
    const refusal = tryWatch()
    if (refusal !== undefined) {
      return {
        status: 'fail',
        evidence: `the system refused a watch (${refusal}): readers poll instead`,
        remedy,
      }
    }
    const most = Number(readFileSync('/proc/sys/fs/inotify/max_user_watches', 'utf8'))
    const evidence = `the system allows a watch; the limit is ${most}`
    return most < WATCHES_COMFORT ? { status: 'warn', evidence, remedy } : fine(evidence)
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
