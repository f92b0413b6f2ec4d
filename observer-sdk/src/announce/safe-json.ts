/**
 * Characters that JSON lets stand raw in a string but that can move a cursor, reverse the reading order or
 * hide: C1 controls and DEL, soft hyphen, bidi controls, line separators, invisible and tag characters.
 */
const UNSAFE =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc01\udc20-\udc7f]/g

/** JSON text with those characters as escapes: it parses to the same value and cannot play tricks on a reader. */
export function safeJson(json: string): string {
  return json.replace(UNSAFE, found => {
    let escaped = ''
    for (let i = 0; i < found.length; i++)
      escaped += `\\u${found.charCodeAt(i).toString(16).padStart(4, '0')}`
    return escaped
  })
}
