/** Whether a path, or the value of a flag, lies where a unit with `PrivateTmp` sees something else. */
export function isInTmp(word: string): boolean {
  return /^(--[\w-]+=)?\/(var\/)?tmp(\/|$)/.test(word)
}
