import { fstatSync, writeSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { errorCodes, KimError, safeJson, safeText } from '@kim/manifest'
import type { Command, Input, Io, Program } from './flag-table.js'
import { chooseCommand, groupOf, parseInput } from './parse.js'

/** The exit codes that shells report for a process ended by a signal. */
export const SIGNAL_EXIT: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }

/**
 * Runs a program as the process: parses, loads the command and sets the exit code. If the reader of stdout closes the
 * pipe, the process exits 0 silently. The signals in `endedBy` abort the command, so that it can clean up.
 */
export async function runProcess(
  program: Program,
  endedBy: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM'],
): Promise<void> {
  const controller = new AbortController()
  const onSignal = (signal: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(SIGNAL_EXIT[signal] ?? 1)
    controller.abort(signal)
  }
  for (const name of endedBy) process.on(name, onSignal)
  writeWhole(process.stdout)
  process.stdout.on('error', error => process.exit(onStdoutError(program, error)))
  process.stderr.on('error', error => process.exit(isPipeClosed(error) ? 0 : 1))
  const io: Io = {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    signal: controller.signal,
  }
  process.exitCode = await runProgram(program, process.argv.slice(2), io)
}

function isPipeClosed(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE'
}

/** An incomplete output must not look complete, so any other error is reported. */
function onStdoutError(program: Program, error: NodeJS.ErrnoException): number {
  if (isPipeClosed(error)) return 0
  const lost = new KimError('store_failed', `cannot write to stdout: ${error.message}`, {
    hint: 'the output is incomplete; free some disk space, or print it elsewhere',
  })
  return reportError(program, lost, false, process)
}

/** Runs a program with given arguments and streams; returns the exit code. Never throws. */
export async function runProgram(program: Program, argv: readonly string[], io: Io): Promise<number> {
  try {
    return await dispatch(program, argv, io)
  } catch (error) {
    if (io.signal.aborted && (error === io.signal.reason || isAbort(error)))
      return SIGNAL_EXIT[String(io.signal.reason)] ?? 130
    return reportError(program, error, argv.includes('--json'), io)
  }
}

async function dispatch(program: Program, argv: readonly string[], io: Io): Promise<number> {
  const before = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : undefined)
  if (before.includes('--version')) {
    io.stdout.write(
      before.includes('--json')
        ? `${JSON.stringify({ name: program.name, version: program.version })}\n`
        : `${program.version}\n`,
    )
    return 0
  }
  const wantsHelp = before.includes('--help') || before.includes('-h') || before[0] === 'help'
  const asked = before[0] === 'help' ? before.slice(1) : before
  if (wantsHelp || (argv.length === 0 && program.commands.every(command => command.name !== ''))) {
    const { helpText } = await import('./help.js')
    const group = groupOf(program, asked[0])
    const part = group.length === 0 ? program : { ...program, commands: group }
    io.stdout.write(await helpText(part, commandFor(part, asked), Math.min(io.stdout.columns ?? 100, 110)))
    return wantsHelp ? 0 : 2
  }
  let input: Input
  try {
    const { command, rest } = chooseCommand(program, argv)
    input = parseInput(program, command, rest, io.env)
  } catch (error) {
    await program.onUnreadable?.(asKimError(error), argv, io)
    throw error
  }
  return await (await input.command.load()).run(input, io)
}

/** The command to print help for; undefined for the program, or for all commands of a group. */
function commandFor(program: Program, argv: readonly string[]): Command | undefined {
  try {
    return chooseCommand(program, argv).command
  } catch {
    return undefined
  }
}

function isAbort(error: unknown): boolean {
  return (
    error instanceof Error && (error.name === 'AbortError' || Object.hasOwn(SIGNAL_EXIT, String(error.cause)))
  )
}

/** Prints the error and its hint on stderr, and on stdout as JSON if the caller reads JSON. */
function reportError(
  program: Program,
  error: unknown,
  json: boolean,
  io: Pick<Io, 'stdout' | 'stderr'>,
): number {
  const known = asKimError(error)
  io.stderr.write(`${program.name}: ${safeText(known.message)}\n`)
  if (known.hint !== '') io.stderr.write(`  ${safeText(known.hint)}\n`)
  if (json) {
    const { code, message, hint, retry } = known
    io.stdout.write(`${safeJson(JSON.stringify({ ok: false, error: { code, message, hint, retry } }))}\n`)
  }
  return known.exitCode
}

/** Error codes for a path that does not exist or is another kind of file. */
const MISNAMED: ReadonlySet<string> = new Set(['EISDIR', 'ELOOP', 'ENAMETOOLONG', 'ENOENT', 'ENOTDIR'])

/** Hints for codes of the system that are no fault of the disk. */
const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: errorCodes.store_full.hint,
  EDQUOT: errorCodes.store_full.hint,
  EMFILE: 'too many open files: raise ulimit -n',
  EADDRINUSE: 'another program uses this port: choose another port, or end that program',
}

/** Any thrown value as an error with a code. */
export function asKimError(error: unknown): KimError {
  if (error instanceof KimError) return error
  const { code, message, path, syscall } = Object(error) as NodeJS.ErrnoException
  if (!(error instanceof Error) || syscall === undefined || code === undefined)
    return new KimError('internal', error instanceof Error ? message : String(error), { cause: error })
  const text = path === undefined ? message : `cannot ${syscall} ${path}: ${code}`
  if (code === 'EACCES' || code === 'EPERM') return new KimError('not_permitted', text, { cause: error })
  const hint = MISNAMED.has(code) ? 'check the path' : HINTS[code]
  return new KimError('store_failed', text, { cause: error, ...(hint === undefined ? {} : { hint }) })
}

/**
 * Makes a stream to a file write everything or fail. Node writes once and ignores how much was written, so on a full
 * disk the rest would be lost silently.
 */
function writeWhole(stream: Writable & { readonly fd: number }): void {
  if (!isRegularFile(stream.fd)) return
  stream._write = (chunk: Uint8Array, _encoding, done) => {
    try {
      for (let taken = 0; taken < chunk.length; ) taken += writeSync(stream.fd, chunk, taken)
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
      return
    }
    done()
  }
}

/** False also for a closed descriptor. */
export function isRegularFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile()
  } catch {
    return false
  }
}

/** The version of KIM, as `--version` prints it. A test compares it with each package.json. */
export const VERSION = '0.1.0'
