/** A producer as a supervisor is to run it. Every path in it is absolute. */
export interface ServiceSpec {
  /** Tells several services of one user apart; undefined for the usual one. */
  readonly instance: string | undefined
  readonly node: string
  /** Options of Node itself, before the script. */
  readonly nodeOptions: readonly string[]
  readonly script: string
  /** `run` and its flags. */
  readonly args: readonly string[]
  readonly storeDir: string
  /** What the service has to write besides its store. */
  readonly writes: readonly string[]
  /** Where its state belongs: with another `XDG_STATE_HOME` it would keep other watermarks. */
  readonly stateHome: string
  /** Its directory below that of the user's runtime files, if it needs one. */
  readonly runtimeDirectory: string | undefined
}

/** The whole command line, a word each. */
export function commandLine({ node, nodeOptions, script, args }: ServiceSpec): string[] {
  return [node, ...nodeOptions, script, ...args]
}

/** The exit codes after which starting again cannot help (CL-18). */
export const FINAL_EXIT_CODES: readonly number[] = [2, 77]
