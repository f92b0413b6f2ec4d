/** What makes one JSON value another, as RFC 6902 writes it. */
import { isJsonObject, jcs } from '@kim/manifest'

/** One operation of a JSON Patch. */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** The operations that make `before` into `after`, by path. A list that differs is replaced whole. */
export function patchOf(before: unknown, after: unknown): PatchOperation[] {
  const operations: PatchOperation[] = []
  collect(before, after, '', operations)
  return operations
}

function collect(before: unknown, after: unknown, path: string, operations: PatchOperation[]): void {
  if (!isJsonObject(before) || !isJsonObject(after)) {
    if (jcs(before) !== jcs(after)) operations.push({ op: 'replace', path, value: after })
    return
  }
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  for (const name of [...names].sort()) {
    const inner = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (!Object.hasOwn(after, name)) operations.push({ op: 'remove', path: inner })
    else if (!Object.hasOwn(before, name)) operations.push({ op: 'add', path: inner, value: after[name] })
    else if (before[name] !== after[name]) collect(before[name], after[name], inner, operations)
  }
}
