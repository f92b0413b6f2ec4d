import { constants } from 'node:os'

/** The simulated process is dead; whoever catches this must not be able to do anything with it. */
export class SimDeath extends Error {
  override readonly name = 'SimDeath'
}

/** The code under test used the file system in a way that no kernel would let pass, or that is a bug. */
export class SimMisuse extends Error {
  override readonly name = 'SimMisuse'
}

/** An errno error of the shape node:fs throws. */
export function systemError(code: string, syscall: string, path?: string): NodeJS.ErrnoException {
  const errno = (constants.errno as Readonly<Record<string, number>>)[code]
  if (errno === undefined) throw new SimMisuse(`${code} is no errno`)
  const where = path === undefined ? '' : ` '${path}'`
  // Millions of them are made, and each is caught: a stack trace takes longer than the call that fails.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const error: NodeJS.ErrnoException = new Error(`${code}: simulated, ${syscall}${where}`)
  Error.stackTraceLimit = stackTraceLimit
  error.code = code
  error.errno = -errno
  error.syscall = syscall
  if (path !== undefined) error.path = path
  return error
}
