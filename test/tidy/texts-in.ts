/** What a slash follows where it begins a regular expression: an operator, or one of these words. */
const BEFORE_REGEX = /(^|[([{,;:=!&|?+\-*%^~<>]|\b(return|typeof|case|in|of|do|else|void|delete|throw|new))$/

/** Where a string or a regular expression that begins at `from` ends. */
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

/** Where the text of a template ends that goes on at `from`: at its backtick, or at the next `${`. */
function endOfTemplateText(source: string, from: number): number {
  let at = from
  while (at < source.length && source[at] !== '`' && !source.startsWith('${', at))
    at += source[at] === '\\' ? 2 : 1
  return at
}

/** An open template: its text so far, and how many braces are open in its `${}`. */
interface Template {
  text: string
  braces: number
}

/**
 * The texts of a TypeScript or JavaScript source: what its strings and templates hold, as they are written, with `…` for
 * each value of a template. Comments and regular expressions are no texts, whatever quotes they hold.
 */
export function textsIn(source: string): string[] {
  const texts: string[] = []
  const open: Template[] = []
  /** The code before `at`, without comments: it decides whether a slash divides. */
  let code = ''
  let at = 0
  /** Takes in the text of a template from `at` to its end or its next value. */
  const goOn = (template: Template): void => {
    const end = endOfTemplateText(source, at)
    template.text += source.slice(at, end)
    if (source[end] === '$') {
      template.text += '…'
      at = end + 2
    } else {
      texts.push(template.text)
      open.pop()
      code = 'literal'
      at = end + 1
    }
  }
  while (at < source.length) {
    const character = source[at] ?? ''
    const template = open.at(-1)
    if (source.startsWith('//', at)) {
      const end = source.indexOf('\n', at)
      at = end < 0 ? source.length : end
    } else if (source.startsWith('/*', at)) {
      const end = source.indexOf('*/', at + 2)
      at = end < 0 ? source.length : end + 2
    } else if (character === "'" || character === '"') {
      const end = endOfLiteral(source, at)
      texts.push(source.slice(at + 1, end - 1))
      code = 'literal'
      at = end
    } else if (character === '/' && BEFORE_REGEX.test(code)) {
      at = endOfLiteral(source, at)
      code = 'literal'
    } else if (character === '`') {
      const begun = { text: '', braces: 0 }
      open.push(begun)
      at++
      goOn(begun)
    } else if (character === '}' && template?.braces === 0) {
      at++
      goOn(template)
    } else {
      if (template !== undefined && character === '{') template.braces++
      if (template !== undefined && character === '}') template.braces--
      if (!/\s/.test(character))
        code = `${/\w/.test(character) && /\w$/.test(code) && !/\s/.test(source[at - 1] ?? '') ? code : ''}${character}`
      at++
    }
  }
  return texts
}
