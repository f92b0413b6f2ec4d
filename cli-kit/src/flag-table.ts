import type { KimError } from '@kim/manifest'

/**
 * One table describes a command line once: the parser, the help, the completion and the schema all read it.
 * Nothing here runs anything, so the table can be printed without loading a command's code.
 */

/** What a flag's text means. `duration` becomes milliseconds, `bytes` a count of bytes; a `path` stays as it was given. */
export type FlagKind = 'boolean' | 'string' | 'path' | 'integer' | 'duration' | 'bytes'

/** One flag of a command. */
export interface Flag {
  readonly name: string
  readonly short?: string
  readonly kind: FlagKind
  /** May be given several times; a comma separates too, unless `commas` is false. */
  readonly many?: true
  /** False where a comma is part of the value: names are data. */
  readonly commas?: false
  /** Placeholder in the help, such as `DIR`. */
  readonly value?: string
  readonly about: string
  readonly choices?: readonly string[]
  /** Read when the flag is absent; an empty variable counts as absent. */
  readonly env?: string
  /** Used when flag and variable are absent; shown in the help. */
  readonly default?: string | number
  readonly min?: number
  readonly max?: number
}

/** One word argument of a command. */
export interface Positional {
  readonly name: string
  readonly about: string
  readonly optional?: true
  readonly many?: true
  /** What it means, as with a flag. */
  readonly kind?: 'path'
  /** Help is silent about it: a flag that it belongs to tells it. */
  readonly hidden?: true
  /** What completion offers for it. */
  readonly choices?: readonly string[]
}

/** One command: its words, its flags, and where its code is. */
export interface Command {
  /** The words that select it, such as `journal verify`; empty for a program's default command. */
  readonly name: string
  readonly about: string
  readonly positionals?: readonly Positional[]
  readonly flags: readonly Flag[]
  /** What its help says besides, line by line. */
  readonly notes?: readonly string[]
  readonly examples?: readonly (readonly [command: string, about: string])[]
  /** Loaded only when the command is chosen: start-up is what agents pay for every call. */
  readonly load: () => Promise<CommandModule>
}

/** What a command's module provides. */
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
  /** Tells whoever does not see stderr of a command line that cannot be read; on stderr it is told in any case. */
  readonly onUnreadable?: (error: KimError, argv: readonly string[], io: Io) => Promise<void>
}

/** The parsed command line, read by name; asking for a flag the table lacks is our bug and throws. */
export interface Input {
  readonly command: Command
  bool(name: string): boolean
  text(name: string): string | undefined
  number(name: string): number | undefined
  list(name: string): readonly string[]
  /** Whether the flag stood on the command line (not merely a default or a variable). */
  given(name: string): boolean
  positional(name: string): string | undefined
  positionals(name: string): readonly string[]
}

/** Where a command's output goes; tests pass their own. */
export interface Io {
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted by SIGINT and SIGTERM; its reason is the signal's name. */
  readonly signal: AbortSignal
}
