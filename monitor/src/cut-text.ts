/** The first `count` code points of a text. */
export function firstCodePoints(text: string, count: number): string {
  if (text.length <= count) return text
  let end = 0
  for (let n = 0; n < count && end < text.length; n++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  return text.slice(0, end)
}

/** The longest beginning of a text, in whole code points, that takes at most `bytes` in UTF-8. */
export function firstBytes(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  let used = 0
  let end = 0
  for (const character of text) {
    used += Buffer.byteLength(character)
    if (used > bytes) break
    end += character.length
  }
  return text.slice(0, end)
}
