import { isCount } from '@kim/manifest'

/** What a message's `<persona>/<id>` says; a persona may hold a slash, an id cannot. */
export function parseMessageId(
  itemId: string,
): { readonly persona: string; readonly id: number } | undefined {
  const at = itemId.lastIndexOf('/')
  const id = Number(itemId.slice(at + 1))
  return at > 0 && isCount(id) ? { persona: itemId.slice(0, at), id } : undefined
}
