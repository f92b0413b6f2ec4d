import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { storePaths } from '@kim/manifest'

/** The path with every link in the part of it that exists resolved. */
function realPathOf(path: string): string {
  const absolute = resolve(path)
  try {
    return realpathSync(absolute)
  } catch {
    const parent = dirname(absolute)
    return parent === absolute ? absolute : join(realPathOf(parent), basename(absolute))
  }
}

/** Whether a path is a directory's own, or one of what stands in it. */
function isAtOrBelow(directory: string, path: string): boolean {
  const steps = relative(directory, path)
  return steps !== '..' && !steps.startsWith(`..${sep}`) && !isAbsolute(steps)
}

/** What is observed: an events directory, and the store that it belongs to, if that is known. */
export interface ObservedStore {
  readonly eventsDir: string
  readonly storeDir?: string | undefined
}

/**
 * Whether a write to a path would change the observed store. Programs that write files for their users ask this first:
 * a reader must not disturb the store, whatever it is asked to do.
 */
export function isInsideStore(observed: ObservedStore, path: string): boolean {
  return observedAround(observed, path) !== undefined
}

/** The store or events directory that a write to a path would change; undefined if it would change neither. */
export function observedAround(observed: ObservedStore, path: string): string | undefined {
  // Replacing a file replaces a link itself, wherever it points.
  const written = [realPathOf(path), join(realPathOf(dirname(resolve(path))), basename(resolve(path)))]
  return directoriesOf(observed).find(directory => written.some(target => isAtOrBelow(directory, target)))
}

/** The real paths of what is observed: with an events directory also the store around it, if it is in one. */
function directoriesOf({ eventsDir, storeDir }: ObservedStore): string[] {
  const events = realPathOf(eventsDir)
  if (storeDir !== undefined) return [realPathOf(storeDir), events]
  const around = storePaths(dirname(events))
  return around.events === events && existsSync(around.run) ? [around.root, events] : [events]
}
