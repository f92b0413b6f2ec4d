/** A JSON Patch applied as RFC 6902 says, written for the tests alone. */
interface Operation {
  readonly op: string
  readonly path: string
  readonly value?: unknown
}

/** The document after all operations, each of which must fit. */
export function applyPatch(document: unknown, operations: readonly Operation[]): unknown {
  let root = document
  for (const { op, path, value } of operations) {
    if (path === '') {
      root = value
      continue
    }
    const names = path
      .split('/')
      .slice(1)
      .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = names.pop() ?? ''
    let at = root as Record<string, unknown>
    for (const name of names) {
      if (!Object.hasOwn(at, name)) throw new RangeError(`${op} ${path}: there is no value`)
      at = at[name] as Record<string, unknown>
    }
    if (op !== 'add' && !Object.hasOwn(at, last)) throw new RangeError(`${op} ${path}: there is no value`)
    if (op === 'remove') delete at[last]
    else Object.defineProperty(at, last, { value, enumerable: true, configurable: true, writable: true })
  }
  return root
}
