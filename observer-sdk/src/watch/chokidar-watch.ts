import { type FSWatcher, watch } from 'chokidar'
import type { SystemWatch, WatchListener } from './watch.js'

/**
 * A watch through chokidar, which knows what each system leaves out. Its `change` loses the last append of a burst
 * (it throttles with no trailing event), so only its un-throttled `raw` event is used.
 */
export function openChokidarWatch(directory: string, listener: WatchListener): SystemWatch {
  const depth = directory.length
  const watcher = watch(directory, {
    depth: 0,
    ignoreInitial: true,
    atomic: false,
    // The directory's own watch reports its files; watching each of them would say everything twice.
    ignored: path => path.length > depth,
  })
  let closed = false
  const report = (what: keyof WatchListener): void => {
    if (!closed) listener[what]()
  }
  watcher.on('raw', () => report('heard'))
  // An environment variable can turn chokidar to polling, which never sees an append.
  watcher.on('ready', () => report(watcher.options.usePolling ? 'broken' : 'armed'))
  // Stays on after the close: an error without a listener would end the host.
  watcher.on('error', () => report('broken'))
  return {
    close() {
      closed = true
      silence(watcher)
    },
  }
}

/**
 * Closes a chokidar watcher for good. `close()` alone forgets the timers of its throttles: closed while
 * it re-reads the directory, which is always under an active writer, it holds the process for a second.
 */
function silence(watcher: FSWatcher): void {
  for (const throttled of watcher._throttled.values()) {
    for (const entry of throttled.values()) clearTimeout(entry.timeoutObject)
  }
  void watcher.close()
  // Closing takes every listener away.
  watcher.on('error', () => {})
}
