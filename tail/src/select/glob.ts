/**
 * Whether a text matches a pattern in which `*` stands for any run of characters and `?` for one.
 * Two pointers and no regular expression: a hostile pattern or text costs at most their product.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let p = 0
  let t = 0
  let star = -1
  let starText = 0
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++
      starText = t
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++
      t++
    } else if (star !== -1) {
      p = star + 1
      t = ++starText
    } else {
      return false
    }
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}
