import { safeText } from '@kim/cli-kit'

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
  const { shown, omitted } = fitSafe(text.replace(/["\\]/g, '\\$&'), width)
  return `"${shown}${omitted > 0 ? '…' : ''}"`
}

/** Code points of a text. */
export function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
