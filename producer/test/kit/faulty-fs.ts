import { type FileSystem, nodeFileSystem } from '@kim/producer/internal'

/** One call of the file system, before it is made. */
export interface Call {
  readonly name: keyof FileSystem
  /** The path it is about, if it names one or its descriptor was opened by one. */
  readonly path: string
  /** Of a write. */
  readonly length?: number
}

/** What to do with a call: nothing, fail it, or let a write take only so many bytes. */
export type Fault = string | number | undefined

/** The real file system, with every call counted and any of them made to fail. */
export class FaultyFs {
  readonly calls: Call[] = []
  fault: (call: Call) => Fault = () => undefined
  readonly #paths = new Map<number, string>()
  readonly port: FileSystem = this.#wrap()

  count(name: keyof FileSystem, part = ''): number {
    return this.calls.filter(call => call.name === name && call.path.includes(part)).length
  }

  /** Fail every call of a name whose path holds a part, until `heal`. */
  break(name: keyof FileSystem, part: string, fault: string | number): void {
    this.fault = call => (call.name === name && call.path.includes(part) ? fault : undefined)
  }

  heal(): void {
    this.fault = () => undefined
  }

  #meet(name: keyof FileSystem, path: string, length?: number): Fault {
    const call = { name, path, ...(length === undefined ? {} : { length }) }
    this.calls.push(call)
    const fault = this.fault(call)
    if (typeof fault === 'string') {
      throw Object.assign(new Error(`${fault}: ${name} ${path}`), { code: fault, syscall: name })
    }
    return fault
  }

  #wrap(): FileSystem {
    const real = nodeFileSystem
    const of = (fd: number): string => this.#paths.get(fd) ?? ''
    return {
      openSync: (path, flags, mode) => {
        this.#meet('openSync', path)
        const fd = real.openSync(path, flags, mode)
        this.#paths.set(fd, path)
        return fd
      },
      closeSync: fd => {
        this.#meet('closeSync', of(fd))
        real.closeSync(fd)
      },
      writeSync: (fd, buffer, offset, length) => {
        const fault = this.#meet('writeSync', of(fd), length)
        return real.writeSync(
          fd,
          buffer,
          offset,
          typeof fault === 'number' ? Math.min(fault, length) : length,
        )
      },
      readSync: (fd, buffer, offset, length, position) => {
        this.#meet('readSync', of(fd))
        return real.readSync(fd, buffer, offset, length, position)
      },
      fdatasyncSync: fd => {
        this.#meet('fdatasyncSync', of(fd))
        real.fdatasyncSync(fd)
      },
      fsyncSync: fd => {
        this.#meet('fsyncSync', of(fd))
        real.fsyncSync(fd)
      },
      fstatSync: fd => {
        this.#meet('fstatSync', of(fd))
        return real.fstatSync(fd)
      },
      lstatSync: path => {
        this.#meet('lstatSync', path)
        return real.lstatSync(path)
      },
      readdirSync: path => {
        this.#meet('readdirSync', path)
        return real.readdirSync(path)
      },
      mkdirSync: (path, options) => {
        this.#meet('mkdirSync', path)
        real.mkdirSync(path, options)
      },
      renameSync: (from, to) => {
        this.#meet('renameSync', to)
        real.renameSync(from, to)
      },
      linkSync: (from, to) => {
        this.#meet('linkSync', to)
        real.linkSync(from, to)
      },
      unlinkSync: path => {
        this.#meet('unlinkSync', path)
        real.unlinkSync(path)
      },
      fchmodSync: (fd, mode) => {
        this.#meet('fchmodSync', of(fd))
        real.fchmodSync(fd, mode)
      },
    }
  }
}
