import { watch } from 'node:fs'
import type { SystemWatch, WatchListener } from './system-watch.js'

/**
 * The system's own watch, one call and one handle: on Linux it reports every append to every file of the directory,
 * and nothing stands between the report and the bell.
 */
export function openPlainWatch(directory: string, listener: WatchListener): SystemWatch {
  let closed = false
  const tell = (what: keyof WatchListener): void => {
    if (!closed) listener[what]()
  }
  try {
    const watcher = watch(directory)
    watcher.on('change', () => tell('heard'))
    // Stays on after the close: an error that nobody listens to would end the host.
    watcher.on('error', () => tell('broken'))
    tell('armed')
    return {
      close() {
        closed = true
        watcher.close()
      },
    }
  } catch {
    // The directory is gone again, or the system has no watch left to give.
    tell('broken')
    return { close: () => {} }
  }
}
