/**
 * How often a look is taken that nothing asked for. Notifications are a convenience: some systems
 * have none, some miss a file that is kept open for writing (FSEvents), and any of them can be lost.
 */
import { statfsSync } from 'node:fs'

/** Between unasked looks where the system's notifications can be trusted. */
export const SLOW_MS = 10_000
/** Between unasked looks where they cannot: other systems, network file systems, a watch that proved deaf. */
export const FAST_MS = 1_000

/** `f_type` of file systems on which another host's writes raise no notification here. */
const REMOTE_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x6969, // NFS
  0x517b, // SMB
  0xff534d42, // CIFS
  0xfe534d42, // SMB2
  0x01021997, // 9P
  0x65735546, // FUSE, sshfs among them
  0x5346414f, // AFS
  0x00c36400, // Ceph
  0x0bd00bd0, // Lustre
  0x47504653, // GPFS
  0x786f4256, // VirtualBox shared folders
  0x7c7c6673, // Parallels shared folders
  0xbacbacbc, // VMware shared folders
  0x01161970, // GFS2
  0x7461636f, // OCFS2
  0x6b414653, // AFS of the kernel
  0x73757245, // Coda
  0x19830326, // BeeGFS
])

/** Whether the system reports appends to this directory's files by others, as far as can be known. */
export function notifies(directory: string, platform: NodeJS.Platform = process.platform): boolean {
  if (platform !== 'linux') return false
  try {
    return !REMOTE_FILE_SYSTEMS.has(statfsSync(directory).type >>> 0)
  } catch {
    return false
  }
}
