import type { StopWatch } from './stop.js'

/** Why following ended. */
export type End =
  | 'met'
  | 'timeout'
  | 'deadline'
  | 'caught_up'
  | 'parent_gone'
  | 'consumer_lost'
  | 'sigterm'
  | 'sigint'

/** What the process exits with, by why it ended. */
export function exitCodeOf(
  reason: Exclude<End, 'consumer_lost'>,
  stop: StopWatch,
  { isAgent, wantsMatch }: { readonly isAgent: boolean; readonly wantsMatch: boolean },
): number {
  switch (reason) {
    case 'sigint':
    case 'sigterm':
      // A harness that ends its child shows anything but 0 as a failure.
      if (isAgent) return 0
      return reason === 'sigint' ? 130 : 143
    case 'met':
    case 'timeout':
    case 'deadline':
      return stop.exitCode(reason)
    case 'caught_up':
      return wantsMatch ? 3 : 0
    case 'parent_gone':
      return 0
    default:
      return reason satisfies never
  }
}
