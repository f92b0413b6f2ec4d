/// <reference lib="es2024.string" />

/** The names of a selection: trimmed, without blanks and exact repeats (KS-67). One with a lone surrogate is refused. */
export function usableNames(names: readonly string[]): {
  readonly usable: readonly string[]
  readonly refused: readonly string[]
} {
  const trimmed = [...new Set(names.map(name => name.trim()))].filter(name => name !== '')
  return {
    usable: trimmed.filter(name => name.isWellFormed()),
    refused: trimmed.filter(name => !name.isWellFormed()).map(name => name.toWellFormed()),
  }
}

/** What a name takes in a list of names, quotes and comma included. */
export function listUnits(name: string): number {
  return name.length + 4
}
