/** A name as one word of a POSIX shell, so that a command in a hint can be typed as it is printed. */
export function shellWord(name: string): string {
  return /^[\w./:@-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`
}
