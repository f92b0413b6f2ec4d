import type { FileSystem } from '../effects/file-system.js'
import type { Meters } from './meters.js'

/** A file system whose calls for durability are measured. */
export function timedFileSystem(fs: FileSystem, meters: Meters): FileSystem {
  return {
    ...fs,
    fdatasyncSync: fd => {
      const seconds = meters.start()
      fs.fdatasyncSync(fd)
      meters.syncs.observe(seconds())
    },
  }
}
