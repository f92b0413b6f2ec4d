import { resolve } from 'node:path'
import { type Input, usageError } from '@kim/cli-kit'

/** The directory that a command reads: always named, since what is replayed is mostly a copy. */
export function eventsOf(input: Input): string {
  const events = input.text('events')
  if (events !== undefined) return resolve(events)
  throw usageError('nothing says which journal', 'give --events DIR')
}
