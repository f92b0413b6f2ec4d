import type { StopWatch } from './stop.js'

/** Why following ended. */
export type End =
  | 'met'
  | 'timeout'
  | 'deadline'
  | 'until'
  | 'caught_up'
  | 'parent_gone'
  | 'consumer_lost'
  | 'sigterm'
  | 'sigint'
  | 'sighup'

/** As shells report a process that a signal ended. */
const SIGNALLED = { sighup: 129, sigint: 130, sigterm: 143 } as const

/** How what ends a command from outside is told: a signal, or the deadline. */
export function endOf(reason: unknown): 'deadline' | keyof typeof SIGNALLED {
  return reason === 'deadline' ? reason : signalOf(reason)
}

/** What the process exits with for a signal where nobody is an agent. */
export function signalledCode(signal: unknown): number {
  return SIGNALLED[signalOf(signal)]
}

function signalOf(signal: unknown): keyof typeof SIGNALLED {
  if (signal === 'SIGHUP') return 'sighup'
  return signal === 'SIGINT' ? 'sigint' : 'sigterm'
}

/** What the process exits with, by why it ended. */
export function exitCodeOf(
  reason: Exclude<End, 'consumer_lost'>,
  stop: StopWatch,
  { isAgent, wantsMatch }: { readonly isAgent: boolean; readonly wantsMatch: boolean },
): number {
  switch (reason) {
    case 'sighup':
    case 'sigint':
    case 'sigterm':
      // A harness that ends its child shows anything but 0 as a failure.
      return isAgent ? 0 : SIGNALLED[reason]
    case 'met':
    case 'timeout':
    case 'deadline':
      return stop.exitCode(reason)
    case 'until':
      return stop.exitCode('deadline')
    case 'caught_up':
      return wantsMatch ? 3 : 0
    case 'parent_gone':
      return 0
    default:
      return reason satisfies never
  }
}
