/** The number in a summary of the form `#<mark>`, by which a record is told from all others. */
export function markIn(summary: string): number | undefined {
  const found = /^#(\d+)$/.exec(summary)
  return found?.[1] === undefined ? undefined : Number(found[1])
}
