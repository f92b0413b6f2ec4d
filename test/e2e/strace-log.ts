import { readFileSync } from 'node:fs'

/** One system call as strace wrote it down. */
export interface SystemCall {
  readonly pid: number
  /** Seconds since the epoch. */
  readonly at: number
  readonly name: string
  readonly text: string
}

const LINE = /^(\d+)\s+(\d+\.\d+) (?:<\.\.\. )?([a-z_0-9]+)[( ](.*)$/

/** The calls of a log made with `-f -y -ttt -o`; what a call resumed is one call with what it began. */
export function readCalls(file: string): SystemCall[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap(line => {
      const match = LINE.exec(line)
      if (match === null || line.includes('<... ')) return []
      const [, pid, at, name = '', text = ''] = match
      return [{ pid: Number(pid), at: Number(at), name, text }]
    })
}

/** Calls that change what stands in a directory, or hold others off it, whatever their arguments. */
const CHANGING =
  /^(creat|rename\w*|unlink\w*|rmdir|mkdir\w*|mknod\w*|link\w*|symlink\w*|l?f?chmod\w*|l?f?chown\w*|f?truncate\w*|fallocate|utime\w*|futimesat|l?f?(set|remove)xattr|flock|p?write\w*|sendfile|copy_file_range|splice|io_uring_\w+|mount|bpf)$/

/** Why a call is not one of a reader, if it is not. */
export function breachOf({ name, text }: SystemCall, store: string): string | undefined {
  if (/^io_uring_/.test(name)) return `${name}: calls that strace cannot see`
  if (!text.includes(store)) return undefined
  if (/^open/.test(name) && /O_(WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)/.test(text)) return `${name}(${text}`
  if (name === 'fcntl' && /F_(OFD_)?SETLK|F_SETLEASE|F_NOTIFY/.test(text)) return `${name}(${text}`
  if (name === 'mmap' && /PROT_WRITE/.test(text) && /MAP_SHARED/.test(text)) return `${name}(${text}`
  return CHANGING.test(name) && changes(name, text, store) ? `${name}(${text}` : undefined
}

/** A write names the store in its bytes too: what counts is the descriptor. */
function changes(name: string, text: string, store: string): boolean {
  return /write|sendfile|splice|copy/.test(name) ? new RegExp(`^\\d+<${store}`).test(text) : true
}
