import { usageError } from '@kim/cli-kit'

/** A search pattern with smart case: lower-case patterns ignore case, one with a capital means it. */
export function compilePattern(source: string, flag: string, caseSensitive = false): RegExp {
  const ignoreCase = !caseSensitive && !hasCapital(source)
  try {
    return new RegExp(source, ignoreCase ? 'iu' : 'u')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw usageError(
      `${flag} is not a valid regular expression: ${reason}`,
      'put a backslash before special characters',
    )
  }
}

/** Capitals that are letters of the pattern, not of an escape such as `\S` or `\p{Lu}`. */
function hasCapital(source: string): boolean {
  return /\p{Lu}/u.test(source.replace(/\\[pP]\{[^}]*\}|\\./g, ''))
}
