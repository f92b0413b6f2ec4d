/** Code that a producer's Node runs before its first module. */
export type Preload = readonly string[]

function preload(code: string): Preload {
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`]
}

/** Each SIGUSR2 sets the wall clock of the process back by so much; its other clocks go on. */
export function steppingClock(backMs: number): Preload {
  return preload(`
    const Real = Date
    let off = 0
    globalThis.Date = class extends Real {
      constructor(...args) { if (args.length === 0) super(Real.now() + off); else super(...args) }
      static now() { return Real.now() + off }
    }
    process.on('SIGUSR2', () => { off -= ${backMs} })
  `)
}

/**
 * Writes below a directory find no space while a file stands at \`flag\`: the first of them is cut short, as the last
 * block of a disk takes what it can.
 */
export function fillableDisk(directory: string, flag: string): Preload {
  return preload(`
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { openSync, writeSync, closeSync, existsSync } = fs
    const mine = new Set()
    let isCut = false
    fs.openSync = (path, ...rest) => {
      const fd = openSync(path, ...rest)
      if (String(path).startsWith(${JSON.stringify(directory)})) mine.add(fd)
      else mine.delete(fd)
      return fd
    }
    fs.closeSync = fd => { mine.delete(fd); closeSync(fd) }
    fs.writeSync = (fd, bytes, from = 0, length = bytes.length, ...rest) => {
      if (!mine.has(fd) || !existsSync(${JSON.stringify(flag)})) { isCut = false; return writeSync(fd, bytes, from, length, ...rest) }
      if (!isCut && typeof bytes !== 'string' && length > 1) { isCut = true; return writeSync(fd, bytes, from, length >> 1, ...rest) }
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', errno: -28, syscall: 'write' })
    }
    syncBuiltinESMExports()
  `)
}

/** Nothing below a directory can be made, opened for writing or changed while a file stands at `flag`. */
export function closedDirectory(directory: string, flag: string, code: 'EACCES' | 'EROFS'): Preload {
  return preload(`
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { existsSync, constants } = fs
    const refuse = (call, path) => {
      if (!String(path).startsWith(${JSON.stringify(directory)}) || !existsSync(${JSON.stringify(flag)})) return
      throw Object.assign(new Error(${JSON.stringify(code)} + ': ' + call + ' ' + path), { code: ${JSON.stringify(code)}, syscall: call, path })
    }
    for (const call of ['mkdirSync', 'chmodSync', 'renameSync', 'unlinkSync']) {
      const real = fs[call]
      fs[call] = (path, ...rest) => { refuse(call, path); return real(path, ...rest) }
    }
    const { openSync, accessSync } = fs
    fs.openSync = (path, flags, ...rest) => {
      if (typeof flags === 'number' && (flags & (constants.O_WRONLY | constants.O_RDWR | constants.O_CREAT)) !== 0) refuse('open', path)
      return openSync(path, flags, ...rest)
    }
    fs.accessSync = (path, mode = 0) => {
      if ((mode & constants.W_OK) !== 0) refuse('access', path)
      return accessSync(path, mode)
    }
    syncBuiltinESMExports()
  `)
}

/** The system refuses every watch, and has these limits. */
export function refusedWatch(watches: number, instances: number): Preload {
  return preload(`
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { readFileSync } = fs
    const limits = { max_user_watches: ${watches}, max_user_instances: ${instances} }
    fs.readFileSync = (path, ...rest) => {
      const [, name] = /^\\/proc\\/sys\\/fs\\/inotify\\/(\\w+)$/.exec(String(path)) ?? []
      return name === undefined ? readFileSync(path, ...rest) : String(limits[name])
    }
    fs.watch = () => {
      throw Object.assign(new Error('ENOSPC: System limit for number of file watchers reached'), { code: 'ENOSPC' })
    }
    syncBuiltinESMExports()
  `)
}

/** Connections to a port go to another one: a store names its server by a port that a test cannot have. */
export function portInstead(port: number, other: number): Preload {
  return preload(`
    import net from 'node:net'
    import { syncBuiltinESMExports } from 'node:module'
    const { connect } = net
    net.connect = (way, ...rest) => connect(way.port === ${port} ? { ...way, port: ${other} } : way, ...rest)
    syncBuiltinESMExports()
  `)
}

/** Which calls of the file system fail with EIO, from when on they are counted, and how many of them. */
export interface FailingCalls {
  /** Calls about paths below it count; calls about others go on. */
  readonly directory: string
  /** `SIGTERM`: from that signal on. `sync`: from the first sync of a segment while a file stands at `flag`; that one fails too. */
  readonly since: 'SIGTERM' | 'sync'
  readonly flag: string
  /** The first call that fails, from 1; 0 for none. */
  readonly at: number
  /** True: all later ones fail too. */
  readonly lasts: boolean
}

/** A disk that fails while a process ends; its last line on stderr says how many calls there were. */
export function failingCalls({ directory, since, flag, at, lasts }: FailingCalls): Preload {
  return preload(`
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { writeSync, existsSync } = fs
    const home = ${JSON.stringify(directory)}
    const paths = new Map()
    let isEnding = false
    let calls = 0
    const failure = (name, path) => Object.assign(new Error('EIO: i/o error, ' + name + ' ' + path), { code: 'EIO', errno: -5, syscall: name, path })
    const counts = path => {
      if (!isEnding || !String(path).startsWith(home)) return false
      calls++
      return ${at} !== 0 && (calls === ${at} || (${lasts} && calls > ${at}))
    }
    const byPath = ['openSync', 'lstatSync', 'statSync', 'readdirSync', 'readFileSync', 'writeFileSync', 'mkdirSync', 'renameSync',
      'unlinkSync', 'rmSync', 'rmdirSync', 'chmodSync', 'utimesSync', 'realpathSync', 'accessSync']
    const byFd = ['closeSync', 'writeSync', 'readSync', 'fdatasyncSync', 'fsyncSync', 'fstatSync', 'ftruncateSync', 'fchmodSync']
    for (const name of byPath) {
      const real = fs[name]
      fs[name] = Object.assign((path, ...rest) => {
        if (counts(path)) throw failure(name, path)
        const value = real(path, ...rest)
        if (name === 'openSync') paths.set(value, String(path))
        return value
      }, real)
    }
    for (const name of byFd) {
      const real = fs[name]
      fs[name] = (fd, ...rest) => {
        const path = paths.get(fd) ?? ''
        // A failed close closes all the same.
        const value = name === 'closeSync' ? real(fd, ...rest) : undefined
        if (name === 'closeSync') paths.delete(fd)
        if (${since === 'sync'} && name === 'fdatasyncSync' && path.includes('/seg-') && !isEnding && existsSync(${JSON.stringify(flag)})) {
          isEnding = true
          throw failure(name, path)
        }
        if (counts(path)) throw failure(name, path)
        return name === 'closeSync' ? value : real(fd, ...rest)
      }
    }
    for (const name of ['open', 'readFile', 'rename', 'stat', 'lstat', 'readdir']) {
      const real = fs.promises[name]
      fs.promises[name] = async (path, ...rest) => {
        if (counts(path)) throw failure(name, path)
        return real(path, ...rest)
      }
    }
    syncBuiltinESMExports()
    if (${since === 'SIGTERM'}) process.prependListener('SIGTERM', () => { isEnding = true })
    process.on('exit', () => writeSync(2, 'calls ' + calls + '\\n'))
  `)
}
