import { setFlagsFromString } from 'node:v8'

/**
 * Has the heap of this process stay close to what is alive in it. A service that waits most of its life would
 * otherwise keep what its largest burst of mail took: V8 trades memory for speed that nobody here waits for. Both are
 * looked at whenever the heap is about to grow, so they may be set in a process that runs.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--optimize-for-size')
  setFlagsFromString('--semi-space-growth-factor=1')
}
