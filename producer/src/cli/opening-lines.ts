import { formatCount } from '@kim/cli-kit'
import type { RehearsedChange } from '../effects/rehearsal.js'

/** What a dry run says of the open that a real run begins with. */
export function openingLines(opening: readonly RehearsedChange[] | undefined): string[] {
  if (opening === undefined || opening.length === 0) return []
  return ['opening the store would first:', ...opening.map(change => `  ${textOf(change)}`)]
}

function textOf({ bytes = 0, from, path, what }: RehearsedChange): string {
  const size = formatCount(bytes, 'byte')
  switch (what) {
    case 'append':
      return `append ${size} to ${path}`
    case 'make':
      return `create ${path}`
    case 'replace':
      return `replace ${path} by ${size}`
    case 'move':
      return `move ${from} to ${path}`
    case 'remove':
      return `remove ${path}`
    case 'mode':
      return `remove the access of other users to ${path}`
    default:
      return what satisfies never
  }
}
