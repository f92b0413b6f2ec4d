import { safeText } from '@kim/cli-kit'

/** Escaped text of at most `width` characters, and how many code points of the original did not fit. */
export function fitSafe(text: string, width: number): { readonly shown: string; readonly omitted: number } {
  let shown = ''
  let at = 0
  for (const character of text) {
    const escaped = safeText(character)
    if (shown.length + escaped.length > width) return { shown, omitted: countCodePoints(text.slice(at)) }
    shown += escaped
    at += character.length
  }
  return { shown, omitted: 0 }
}

/** A value in a `key=value` list: bare if nothing in it could end it, else quoted. */
export function word(text: string, width = 120): string {
  if (/^[\p{L}\p{N}_.:@/+-]+$/u.test(text) && text.length <= width) return text
  // Where the head of a line ends is told by the first bar in it.
  const { shown, omitted } = fitSafe(text.replace(/["\\]/g, '\\$&').replaceAll('|', '\\x7c'), width)
  return `"${shown}${omitted > 0 ? '…' : ''}"`
}

/** Code points of a text. */
export function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
