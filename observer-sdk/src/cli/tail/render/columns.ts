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

const COMBINING = /^[\p{Mn}\p{Me}]$/u
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]$/u

function widthOf(character: string): number {
  if (character < '\u0300') return 1
  if (COMBINING.test(character)) return 0
  return WIDE.test(character) ? 2 : 1
}
