/**
 * Text from a message is data: it must not move the cursor, colour the terminal, reverse the reading order or
 * begin a line of its own. Escapes C0, DEL and C1 controls, line separators, bidi controls, invisible format
 * characters and lone surrogates; everything printable stays as it is.
 */
export function safeText(text: string): string {
  return text.replace(UNSAFE, escapeCharacter)
}

const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escapeCharacter(character: string): string {
  const short = SHORT[character]
  if (short !== undefined) return short
  const point = character.codePointAt(0) ?? 0
  if (point < 0x100) return `\\x${point.toString(16).padStart(2, '0')}`
  if (point < 0x10000) return `\\u${point.toString(16).padStart(4, '0')}`
  return `\\u{${point.toString(16)}}`
}
