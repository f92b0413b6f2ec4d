import type { Environment, KimError } from '@kim/manifest'

/**
 * A table describes a command line. The parser, the help and the completion read it. The table can be printed without
 * loading a command's code.
 */

/** What a flag's text means. `duration` becomes milliseconds, `bytes` a number of bytes; a `path` is not changed. */
export type FlagKind = 'boolean' | 'string' | 'path' | 'integer' | 'duration' | 'bytes'

/** One flag of a command. */
export interface Flag {
  readonly name: string
  readonly short?: string
  readonly kind: FlagKind
  /** May be given several times. A comma separates values too, unless `commas` is false. */
  readonly many?: true
  /** False if a comma is part of the value. */
  readonly commas?: false
  /** Placeholder in the help, such as `DIR`. */
  readonly value?: string
  readonly about: string
  readonly choices?: readonly string[]
  /** Read when the flag is absent; an empty variable counts as absent. */
  readonly env?: string
  /** Used if flag and variable are absent. The help shows it. */
  readonly default?: string | number
  readonly min?: number
  readonly max?: number
  /** Begins a topic: the help lists this flag and those after it under this heading. */
  readonly topic?: string
  /** The hint for a value that is refused, instead of the help. */
  readonly remedy?: string
}

/** One line of a flag table, for a flag that takes a value. `value` is its placeholder in the help. */
export function flag(
  kind: Exclude<FlagKind, 'boolean'>,
  name: string,
  value: string,
  about: string,
  more: Omit<Flag, 'kind' | 'name' | 'value' | 'about'> = {},
): Flag {
  return { kind, name, value, about, ...more }
}

/** The same for a flag without a value. */
export function toggle(name: string, about: string, more: Pick<Flag, 'short' | 'topic'> = {}): Flag {
  return { kind: 'boolean', name, about, ...more }
}

/** One word argument of a command. */
interface Positional {
  readonly name: string
  readonly about: string
  readonly optional?: true
  readonly many?: true
  readonly kind?: 'path'
  /** What completion offers. */
  readonly choices?: readonly string[]
}

/** One command: its words, its flags, and where its code is. */
export interface Command {
  /** The words that select it, such as `journal verify`; empty for a program's default command. */
  readonly name: string
  readonly about: string
  readonly positionals?: readonly Positional[]
  /** The flags that it cannot do without, as the usage line shows them. */
  readonly requires?: string
  readonly flags: readonly Flag[]
  /** Flags of a program that this one replaces, and what to type instead. */
  readonly replaced?: Readonly<Record<string, string>>
  /** If they differ from those of its program. */
  readonly exitCodes?: Program['exitCodes']
  /** Further lines of its help. */
  readonly notes?: readonly string[]
  readonly examples?: readonly (readonly [command: string, about: string])[]
  /** Loads the command's code once it is chosen, because agents wait for the start of every call. */
  readonly load: () => Promise<CommandModule>
}

/** The code of a command. */
export interface CommandModule {
  readonly run: (input: Input, io: Io) => number | Promise<number>
}

/** A program: a name, a version and its commands. */
export interface Program {
  readonly name: string
  readonly version: string
  readonly about: string
  readonly commands: readonly Command[]
  readonly exitCodes: readonly (readonly [code: number, meaning: string])[]
  /** Reports a command line that cannot be parsed to readers who do not see stderr. Stderr gets it in any case. */
  readonly onUnreadable?: (error: KimError, argv: readonly string[], io: Io) => Promise<void>
}

/** The parsed command line. A name that the table lacks is our bug and throws. */
export interface Input {
  readonly command: Command
  bool(name: string): boolean
  text(name: string): string | undefined
  number(name: string): number | undefined
  list(name: string): readonly string[]
  /** Whether the flag is on the command line: a default or a variable does not count. */
  given(name: string): boolean
  positional(name: string): string | undefined
  positionals(name: string): readonly string[]
}

/** Where a command's output goes; tests pass their own. */
export interface Io {
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly env: Environment
  /** Aborted by SIGINT and SIGTERM, with the signal's name as its reason. */
  readonly signal: AbortSignal
}
