/** Columns that a text takes on a terminal: wide characters two, combining ones none. */
export function displayWidth(text: string): number {
  let width = 0
  for (const character of text) width += widthOf(character)
  return width
}

/** The longest beginning of a text that fits, with `…` if something was cut. */
export function fitColumns(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text
  let used = 1
  let fitted = ''
  for (const character of text) {
    used += widthOf(character)
    if (used > columns) break
    fitted += character
  }
  return `${fitted}…`
}

/** Terminals differ over these, and a line that is taken for narrower than it is runs on into one of its own. */
const EMOJI = /^[\p{Emoji_Presentation}\u{1f000}-\u{1fbff}]$/u
/** Makes an emoji of what stands before it. */
const EMOJI_SELECTOR = '\ufe0f'
const COMBINING = /^[\p{Mn}\p{Me}]$/u
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2ff}\u{20000}-\u{3fffd}]$/u

function widthOf(character: string): number {
  if (character < '\u0300') return 1
  if (character === EMOJI_SELECTOR) return 1
  if (EMOJI.test(character)) return 2
  if (COMBINING.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}
