import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { plantFlags, producerRoot } from './plant.js'
import type { Preload } from './preloads.js'

/** The launcher that npm links. */
const BIN = join(producerRoot, 'bin/kim-producer.js')

/** The environment of a user who set nothing, with private state below `home`. */
function environment(home: string, more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(KIM|KIJITO|XDG|NO_COLOR|FORCE_COLOR|NODE_OPTIONS|https?_proxy|TAP)/i.test(name),
  )
  return { ...Object.fromEntries(kept), HOME: home, XDG_STATE_HOME: join(home, 'state'), TZ: 'UTC', ...more }
}

/**
 * Resolves once everything is read that producers had printed when it was called. A test that sees a record or a file
 * may have the line of log that came before it still in a pipe.
 */
export async function readPipes(): Promise<void> {
  // The loop looks at the pipes between two turns. The look before the first one may be older than the call.
  await turn()
  await turn()
}

/** A producer as a process of its own. */
export class ProducerProcess {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  stdout = ''
  stderr = ''
  /** How it ended; undefined while it runs. */
  code: number | string | undefined
  readonly ended: Promise<number | string>

  constructor(
    home: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    preload: Preload = [],
  ) {
    this.child = spawn(process.execPath, [...plantFlags(), ...preload, BIN, ...args], {
      env: environment(home, env),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      this.stdout += chunk
    })
    this.child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.stderr += chunk
    })
    this.ended = new Promise(resolve => {
      this.child.on('close', (code, signal) => {
        this.code = code ?? signal ?? 'gone'
        resolve(this.code)
      })
    })
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name)
  }

  /** Stops it as a supervisor does, and says how it ended. */
  async stop(): Promise<number | string> {
    if (this.code === undefined) this.signal('SIGTERM')
    return this.ended
  }
}
