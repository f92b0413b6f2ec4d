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
