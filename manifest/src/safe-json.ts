/**
 * Characters that JSON lets stand raw in a string but that can move a cursor, reverse the reading order or
 * hide: C1 controls and DEL, soft hyphen, bidi controls, line separators, invisible and tag characters.
 */
const UNSAFE =
  /[\u007f-\u009f\p{Zl}\p{Zp}\u2800]|(?![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])\p{Cf}|(?<=^|[\s"]|[\ufe00-\ufe0f])[\ufe00-\ufe0f]|(?![\ufe00-\ufe0f])\p{Default_Ignorable_Code_Point}/gu

/** JSON text with those characters as escapes: it parses to the same value and cannot play tricks on a reader. */
export function safeJson(json: string): string {
  return json.replace(UNSAFE, found => {
    let escaped = ''
    for (let i = 0; i < found.length; i++)
      escaped += `\\u${found.charCodeAt(i).toString(16).padStart(4, '0')}`
    return escaped
  })
}
