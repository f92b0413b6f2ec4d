/** What makes one JSON value another, as RFC 6902 writes it. */
import { isJsonObject, jcs } from '@kim/manifest'

/** One operation of a JSON Patch. */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** The operations that make `before` into `after`, by path. A list that differs is replaced whole. */
export function patchOf(before: unknown, after: unknown, path = ''): PatchOperation[] {
  if (!isJsonObject(before) || !isJsonObject(after))
    return jcs(before) === jcs(after) ? [] : [{ op: 'replace', path, value: after }]
  const operations: PatchOperation[] = []
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  for (const name of [...names].sort()) {
    const inner = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (!Object.hasOwn(after, name)) operations.push({ op: 'remove', path: inner })
    else if (!Object.hasOwn(before, name)) operations.push({ op: 'add', path: inner, value: after[name] })
    else if (before[name] !== after[name]) operations.push(...patchOf(before[name], after[name], inner))
  }
  return operations
}
