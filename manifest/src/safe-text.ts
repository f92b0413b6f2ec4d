/**
 * Text from a message is data: it must not move the cursor, colour the terminal, reverse the reading order or
 * begin a line of its own. Escapes C0, DEL and C1 controls, line separators, bidi controls, invisible format
 * characters and lone surrogates; everything printable stays as it is.
 */
export function safeText(text: string): string {
  return text.replace(UNSAFE, escapeCharacter)
}

// Left as they are: signs of Arabic and other scripts that format and are seen, and what turns a sign into an emoji: one
// behind a sign, as a run of them is seen by nobody and can carry any text.
const UNSAFE =
  /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u2800]|(?![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])\p{Cf}|(?<=^|\s|[\ufe00-\ufe0f])[\ufe00-\ufe0f]|(?![\ufe00-\ufe0f])\p{Default_Ignorable_Code_Point}/gu

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escapeCharacter(character: string): string {
  const short = SHORT[character]
  if (short !== undefined) return short
  const point = character.codePointAt(0) ?? 0
  if (point < 0x100) return `\\x${point.toString(16).padStart(2, '0')}`
  if (point < 0x10000) return `\\u${point.toString(16).padStart(4, '0')}`
  return `\\u{${point.toString(16)}}`
}
