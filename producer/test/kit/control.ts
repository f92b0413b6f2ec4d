import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type JsonObject, type StorePaths, storePaths } from '@kim/manifest'
import {
  type ControlOptions,
  type ControlServer,
  type ControlVerbs,
  openControl,
} from '@kim/producer/internal'
import type { Test } from 'tap'
import { homeOf } from './home.js'

/** An empty store directory with its `run/`. */
export function runDirectory(t: Test, deeper = ''): StorePaths {
  const home = homeOf(t)
  const paths = storePaths(join(home, deeper))
  mkdirSync(paths.run, { recursive: true, mode: 0o700 })
  return paths
}

/** Verbs that only say what was asked of them. */
export function scriptedVerbs(asked: string[], changes: Partial<ControlVerbs> = {}): ControlVerbs {
  const say = (what: string): void => void asked.push(what)
  return {
    headSeq: () => 4711,
    poke: persona => {
      say(`poke ${persona ?? 'all'}`)
      return persona === undefined ? 3 : 1
    },
    status: () => {
      say('status')
      return { state: 'running' }
    },
    checkpoint: async () => {
      say('checkpoint')
      return { file: 'ckpt', head_seq: 4711 }
    },
    gc: async dryRun => {
      say(dryRun ? 'gc, dry' : 'gc')
      return { moved: [] }
    },
    shutdown: () => say('shutdown'),
    ...changes,
  }
}

/** A control server that is closed with the test. */
export async function controlServer(t: Test, options: ControlOptions): Promise<ControlServer> {
  const server = await openControl(options)
  t.teardown(() => server.close())
  return server
}

/** A client that sends what it likes. */
export interface RawClient {
  readonly socket: Socket
  send(...requests: readonly unknown[]): void
  /** The next replies, as many as are asked for. */
  replies(count: number): Promise<JsonObject[]>
  /** Settles when the connection is gone, with everything that was said on it. */
  closed(): Promise<string>
}

/** Connects to a control socket. */
export async function rawClient(t: Test, path: string): Promise<RawClient> {
  const socket = connect({ path, allowHalfOpen: true })
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  let text = ''
  let taken = 0
  socket.on('data', chunk => {
    text += chunk.toString()
    socket.emit('told')
  })
  socket.on('end', () => socket.end())
  const gone = once(socket, 'close')
  return {
    socket,
    send: (...requests) => {
      socket.write(requests.map(one => `${typeof one === 'string' ? one : JSON.stringify(one)}\n`).join(''))
    },
    replies: async count => {
      const lines = (): string[] => text.split('\n').slice(0, -1)
      while (lines().length < taken + count) await once(socket, 'told')
      const found = lines().slice(taken, taken + count)
      taken += count
      return found.map(line => JSON.parse(line) as JsonObject)
    },
    closed: async () => {
      await gone
      return text
    },
  }
}
