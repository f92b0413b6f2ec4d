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
