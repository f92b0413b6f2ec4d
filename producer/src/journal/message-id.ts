import { isCount } from '@kim/manifest'

/** What a message's `<persona>/<id>` says; a persona may hold a slash, an id cannot. */
export function parseMessageId(
  itemId: string,
): { readonly persona: string; readonly id: number } | undefined {
  const at = itemId.lastIndexOf('/')
  const id = Number(itemId.slice(at + 1))
  return at > 0 && isCount(id) ? { persona: itemId.slice(0, at), id } : undefined
}

/**
 * The id of a message's entity. Joined, since a concatenation is held with both its halves, twice the memory, for as
 * long as anybody holds it.
 */
export function messageItemId(persona: string, id: number): string {
  return [persona, id].join('/')
}
