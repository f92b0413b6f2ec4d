import { type Input, usageError } from '@kim/cli-kit'

/** The form that was asked for: `-o`, or `--json` for short. */
export function outputFormat(input: Input, otherwise = 'text'): string {
  const form = input.text('output')
  if (!input.bool('json')) return form ?? otherwise
  if (form !== undefined && form !== 'json')
    throw usageError(`--json and -o ${form} exclude each other`, 'give one of them')
  return 'json'
}
