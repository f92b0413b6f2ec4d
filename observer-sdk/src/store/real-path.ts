import { realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** The path with every link in the part of it that exists resolved. */
export function realPathOf(path: string): string {
  const absolute = resolve(path)
  try {
    return realpathSync(absolute)
  } catch {
    const parent = dirname(absolute)
    return parent === absolute ? absolute : join(realPathOf(parent), basename(absolute))
  }
}

/** Whether a path is a directory's own, or one of what stands in it. */
export function isAtOrBelow(directory: string, path: string): boolean {
  const steps = relative(directory, path)
  return steps !== '..' && !steps.startsWith(`..${sep}`) && !isAbsolute(steps)
}
