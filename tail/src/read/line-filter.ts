/**
 * A quick look at a line's bytes: false only if the line surely belongs to none of these personas. Most lines of a
 * busy store belong to others, and parsing them is what a start would spend its time on.
 *
 * A name made of plain characters can stand in JSON as it is or with `\u` escapes, in no other way. Lines with `tx`
 * must always be looked at.
 */
export function lineFilter(personas: readonly string[]): ((line: Buffer) => boolean) | undefined {
  if (personas.length === 0 || !personas.every(name => /^[\w.-]+$/.test(name))) return undefined
  const needles = [...personas.map(name => `"${name}"`), '"tx"', '\\u'].map(text => Buffer.from(text))
  return line => needles.some(needle => line.includes(needle))
}
