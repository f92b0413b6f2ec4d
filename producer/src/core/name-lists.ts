import type { AccountAlertKind } from '@kim/manifest'

/**
 * The names that account-wide alarms hold. Every inbox that is told of one holds a list of its own, all are looked at
 * with every commit, and most of them are what they were: what was found to be the same is not compared again.
 */
export class NameLists {
  readonly #newest = new Map<AccountAlertKind, string[]>()
  readonly #same = new WeakMap<readonly unknown[], readonly string[]>()

  /** These names; the very list of the last time if it held the same. */
  settle(kind: AccountAlertKind, names: string[]): string[] {
    const before = this.#newest.get(kind)
    if (before !== undefined && areEqual(before, names)) return before
    this.#newest.set(kind, names)
    return names
  }

  /** True where a list that stands holds these names, in this order. */
  isSame(standing: readonly unknown[], names: readonly string[]): boolean {
    if (standing === names || this.#same.get(standing) === names) return true
    if (!areEqual(standing, names)) return false
    this.#same.set(standing, names)
    return true
  }
}

function areEqual(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((one, at) => one === b[at])
}
