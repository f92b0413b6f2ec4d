import type { Disk } from '../journal/file-ops.js'

const LF = 0x0a

/** The whole lines at the end of files, the newest file first, as far as so many bytes go. */
export function lastLines(disk: Disk, paths: readonly string[], bytesMax: number): ReadonlySet<string> {
  const lines = new Set<string>()
  let left = bytesMax
  for (const path of paths) {
    if (left <= 0 || disk.look(path) === undefined) break
    const bytes = endOf(disk, path, left)
    left -= bytes.length
    for (const line of wholeLines(bytes, left > 0)) lines.add(line)
  }
  return lines
}

function endOf(disk: Disk, path: string, bytesMax: number): Buffer {
  const { fd, stat } = disk.openRead(path)
  try {
    const length = Math.min(stat.size, bytesMax)
    return disk.readAt(fd, path, stat.size - length, length)
  } finally {
    disk.close(fd)
  }
}

/** What is not from the beginning on begins somewhere in a line; what does not end with one may be torn. */
function wholeLines(bytes: Buffer, isFromStart: boolean): string[] {
  const from = isFromStart ? 0 : bytes.indexOf(LF) + 1
  const to = bytes.lastIndexOf(LF)
  return to < from ? [] : bytes.toString('utf8', from, to).split('\n')
}
