/** A number of things for a person: `1 segment`, `3 segments`, `1,200 entries`. */
export function formatCount(amount: number, noun: string, plural: string = `${noun}s`): string {
  return `${amount.toLocaleString('en-US')} ${amount === 1 ? noun : plural}`
}
