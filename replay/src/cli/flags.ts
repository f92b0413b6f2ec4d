/** Flags that several commands of `kim-replay` take. */
import { type Flag, type Input, usageError } from '@kim/cli-kit'

export const replayEventsFlag: Flag = {
  name: 'events',
  kind: 'path',
  value: 'DIR',
  about: 'read this events directory, or a copy of one',
}

export const replayStoreFlag: Flag = {
  name: 'store',
  kind: 'path',
  value: 'DIR',
  env: 'KIM_STORE',
  about: "read this store, if no --events is given (default: the state directory's kim/stores/default)",
}

export const replayJsonFlag: Flag = { name: 'json', kind: 'boolean', about: 'print one JSON object' }

export const personaFlag: Flag = {
  name: 'persona',
  short: 'p',
  kind: 'string',
  many: true,
  value: 'NAME',
  about: 'select these personas',
}

export const utcFlag: Flag = {
  name: 'utc',
  kind: 'boolean',
  about: 'read times without a zone as UTC, not as local time',
}

/** The forms that a command can print in, text first. */
export function outputFlag(...forms: readonly string[]): Flag {
  return {
    name: 'output',
    short: 'o',
    kind: 'string',
    value: 'FORM',
    choices: forms,
    about: `choose the output format: ${forms.join(', ')}`,
  }
}

/** The range that `--from-seq` and `--to-seq` name, if both ends are given in order. */
export function seqRangeOf(input: Input): { readonly fromSeq: number; readonly toSeq: number } {
  const range = {
    fromSeq: input.number('from-seq') ?? 1,
    toSeq: input.number('to-seq') ?? Number.MAX_SAFE_INTEGER,
  }
  if (range.fromSeq > range.toSeq)
    throw usageError(`--from-seq ${range.fromSeq} is above --to-seq ${range.toSeq}`, 'swap them')
  return range
}

/** What every command that reads a journal takes. */
export const replaySourceFlags: readonly Flag[] = [replayEventsFlag, replayStoreFlag]
