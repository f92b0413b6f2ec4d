import type { Disk } from '../journal/file-ops.js'

const LF = 0x0a

/**
 * The lines at the end of files, the newest file first, as far as so many bytes go; also one that is not ended, as
 * that may be all it lacks. Only the newest file has to be readable: an older one may be anybody's.
 */
export function lastLines(disk: Disk, [newest, ...older]: readonly string[], bytesMax: number): string[] {
  const lines: string[] = []
  let left = bytesMax
  const read = (path: string): void => {
    if (left <= 0 || disk.look(path) === undefined) return
    const { bytes, isWhole } = endOf(disk, path, left)
    left -= bytes.length
    // What is not from the beginning on begins somewhere in a line.
    const from = isWhole ? 0 : bytes.indexOf(LF) + 1
    lines.push(...bytes.toString('utf8', from).split('\n'))
  }
  if (newest !== undefined) read(newest)
  for (const path of older) {
    try {
      read(path)
    } catch {
      break
    }
  }
  return lines.filter(line => line !== '')
}

function endOf(
  disk: Disk,
  path: string,
  bytesMax: number,
): { readonly bytes: Buffer; readonly isWhole: boolean } {
  const { fd, stat } = disk.openRead(path)
  try {
    const length = Math.min(stat.size, bytesMax)
    const bytes = disk.readAt(fd, path, stat.size - length, length)
    return { bytes, isWhole: length === stat.size }
  } finally {
    disk.close(fd)
  }
}
