/** Text for a person or a terminal: made safe, and counted. */

/**
 * Text from a message is data: it must not move the cursor, colour the terminal, reverse the reading order or
 * begin a line of its own. Escapes C0, DEL and C1 controls, line separators, bidi controls, invisible format
 * characters and lone surrogates; everything printable stays as it is.
 */
export function safeText(text: string): string {
  return text.replace(UNSAFE_IN_TEXT, escapeCharacter)
}

// Not escaped: format characters of Arabic and other scripts that are visible, and one variation selector behind a
// character, which makes it an emoji. A run of selectors is invisible and could carry any text.
const UNSAFE_IN_TEXT =
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

/**
 * Characters that JSON lets stand raw in a string but that can move a cursor, reverse the reading order or
 * hide: C1 controls and DEL, soft hyphen, bidi controls, line separators, invisible and tag characters.
 */
const UNSAFE_IN_JSON =
  /[\u007f-\u009f\p{Zl}\p{Zp}\u2800]|(?![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])\p{Cf}|(?<=^|[\s"]|[\ufe00-\ufe0f])[\ufe00-\ufe0f]|(?![\ufe00-\ufe0f])\p{Default_Ignorable_Code_Point}/gu

/** JSON text with those characters as escapes: it parses to the same value and cannot play tricks on a reader. */
export function safeJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, found => {
    let escaped = ''
    for (let i = 0; i < found.length; i++)
      escaped += `\\u${found.charCodeAt(i).toString(16).padStart(4, '0')}`
    return escaped
  })
}

/** A number of things for a person: `1 segment`, `3 segments`, `1,200 entries`. */
export function formatCount(amount: number, noun: string, plural: string = `${noun}s`): string {
  return `${amount.toLocaleString('en-US')} ${amount === 1 ? noun : plural}`
}

/** A name as one word of a POSIX shell, so that a command in a hint can be copied. */
export function shellWord(name: string): string {
  return /^[\w./:@-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`
}
