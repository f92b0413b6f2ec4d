/** Whether to colour: the flag, else `NO_COLOR`, else `FORCE_COLOR`, else a terminal that is not dumb. */
export function wantsColour(
  choice: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  isTerminal: boolean,
): boolean {
  if (choice === 'always') return true
  if (choice === 'never') return false
  if (env['NO_COLOR']) return false
  if (env['FORCE_COLOR']) return env['FORCE_COLOR'] !== '0'
  return isTerminal && env['TERM'] !== 'dumb'
}
