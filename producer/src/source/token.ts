import { shellWord } from '@kim/cli-kit'
import { type Environment, KimError } from '@kim/manifest'
import { ANYBODY_BUT_OWNER, type FileSystem, openFlags } from '../effects/system.js'

const TOKEN_BYTES_MAX = 16_384

/** One place, and what it holds. */
export interface FoundToken {
  readonly token: string
  /** As a person names the place: `the file F` or `$NAME`. */
  readonly from: string
}

function invalid(where: string, what: string): KimError {
  const hint = where.startsWith('$') ? `correct ${where}, or unset it` : 'write only the token into the file'
  return new KimError('token_invalid', `the token in ${where} ${what}`, { hint })
}

/** The text of a token, without white space around it; never shown in what is thrown. */
function checked(text: string, where: string): string {
  if (Buffer.byteLength(text) > TOKEN_BYTES_MAX)
    throw invalid(where, `is longer than ${TOKEN_BYTES_MAX} bytes`)
  const token = text.trim()
  if (token === '') throw invalid(where, 'is empty')
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw invalid(where, 'must be printable ASCII without spaces')
  }
  return token
}

function openToken(fs: FileSystem, path: string): number {
  try {
    // Without blocking: a pipe in the file's place would hold the process before it is checked.
    return fs.openSync(path, openFlags.readOnly | openFlags.nonBlock)
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    const isDenied = code === 'EACCES' || code === 'EPERM'
    throw new KimError(isDenied ? 'not_permitted' : 'token_invalid', `cannot read the token file ${path}`, {
      cause,
      hint:
        code === 'ENOENT'
          ? 'the file does not exist: check the path of --token-file'
          : 'check the path and the permissions of --token-file',
    })
  }
}

function checkOwn(fs: FileSystem, fd: number, path: string, uid: number | undefined): void {
  const stat = fs.fstatSync(fd)
  const refuse = (why: string, hint: string): KimError =>
    new KimError('not_permitted', `the token file ${path} ${why}`, { hint })
  if (!stat.isFile()) throw refuse('is not a regular file', 'name a file that holds only the token')
  // Without user numbers (Windows) the mode bits say nothing either.
  if (uid === undefined) return
  if (stat.uid !== uid && stat.uid !== 0) {
    throw refuse(
      `belongs to user ${stat.uid}`,
      `its owner can read the token; if the file is yours: sudo chown ${uid} ${shellWord(path)}`,
    )
  }
  if ((stat.mode & ANYBODY_BUT_OWNER) !== 0)
    throw refuse('is accessible to other users', `chmod 600 ${shellWord(path)}`)
}

function readSmall(fs: FileSystem, fd: number): string {
  // One byte more than is allowed tells "too long" from "just fits".
  const buffer = Buffer.alloc(TOKEN_BYTES_MAX + 1)
  let length = 0
  for (;;) {
    const read = fs.readSync(fd, buffer, length, buffer.length - length, length)
    length += read
    if (read === 0 || length === buffer.length) return buffer.toString('utf8', 0, length)
  }
}

function readTokenFile(fs: FileSystem, path: string, uid: number | undefined): FoundToken {
  const fd = openToken(fs, path)
  const from = `the file ${path}`
  try {
    checkOwn(fs, fd, path, uid)
    return { token: checked(readSmall(fs, fd), from), from }
  } finally {
    fs.closeSync(fd)
  }
}

/**
 * The configured token, or undefined where none is. The first place that is named decides, even if its token
 * is refused: falling back would send another credential than the one the operator meant (KS-83).
 */
export function readToken(
  file: string | undefined,
  env: Environment,
  fs: FileSystem,
  uid: number | undefined,
): FoundToken | undefined {
  if (file !== undefined) return readTokenFile(fs, file, uid)
  for (const name of ['KIM_TOKEN', 'KIJITOMON_TOKEN']) {
    const value = env[name]
    if (value !== undefined) return { token: checked(value, `$${name}`), from: `$${name}` }
  }
  return undefined
}
