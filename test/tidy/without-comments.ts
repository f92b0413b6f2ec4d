/** Words after which a slash begins a regular expression, as it does after an operator. */
const BEFORE_REGEX = /(^|[([{,;:=!&|?+\-*%^~<>]|\b(return|typeof|case|in|of|do|else|void|delete|throw|new))$/

/** Where a text between quotes, or a regular expression, that begins at `from` ends. */
function endOfLiteral(source: string, from: number): number {
  const quote = source[from] ?? ''
  let isInClass = false
  for (let at = from + 1; at < source.length; at++) {
    const character = source[at]
    if (character === '\\') at++
    else if (quote === '/' && character === '[') isInClass = true
    else if (quote === '/' && character === ']') isInClass = false
    else if (character === quote && !isInClass) return at + 1
  }
  return source.length
}

/**
 * TypeScript or JavaScript without its comments. Strings, templates and regular expressions stay as they are, whatever
 * slashes they hold: `//` in a URL begins no comment.
 */
export function withoutComments(source: string): string {
  let kept = ''
  /** For each open template, how many braces are open in its `${}`. */
  const templates: number[] = []
  let at = 0
  const keepTo = (end: number): void => {
    kept += source.slice(at, end)
    at = end
  }
  /** Keeps the text of a template up to its end or its next `${`. */
  const keepTemplateText = (): void => {
    let end = at
    while (end < source.length && source[end] !== '`' && !source.startsWith('${', end)) {
      end += source[end] === '\\' ? 2 : 1
    }
    if (source[end] === '`') keepTo(end + 1)
    else {
      templates.push(0)
      keepTo(end + 2)
    }
  }
  while (at < source.length) {
    const character = source[at] ?? ''
    const open = templates.length - 1
    if (source.startsWith('//', at)) {
      const end = source.indexOf('\n', at)
      at = end < 0 ? source.length : end
    } else if (source.startsWith('/*', at)) {
      const end = source.indexOf('*/', at + 2)
      at = end < 0 ? source.length : end + 2
    } else if (character === "'" || character === '"') keepTo(endOfLiteral(source, at))
    else if (character === '/' && BEFORE_REGEX.test(kept.trimEnd())) keepTo(endOfLiteral(source, at))
    else if (character === '`') {
      keepTo(at + 1)
      keepTemplateText()
    } else if (character === '}' && open >= 0 && templates[open] === 0) {
      templates.pop()
      keepTo(at + 1)
      keepTemplateText()
    } else {
      if (open >= 0 && character === '{') templates[open] = (templates[open] ?? 0) + 1
      if (open >= 0 && character === '}') templates[open] = (templates[open] ?? 0) - 1
      keepTo(at + 1)
    }
  }
  return kept
}
