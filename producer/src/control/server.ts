import { chmodSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { KimError, type StorePaths } from '@kim/manifest'
import { everyStep } from '../effects/every-step.js'
import { currentHost } from '../effects/host.js'
import { loopTimers, type Timers } from '../effects/timers.js'
import { loopTurn, type Turn } from '../effects/turn.js'
import { Connection } from './connection.js'
import { ControlDispatcher } from './control-dispatcher.js'
import { refusal } from './reply.js'
import {
  prepareSocketPath,
  removeSocketPath,
  type SocketPath,
  type SocketPathOptions,
  socketPathOf,
} from './socket-path.js'
import type { ControlVerbs } from './verbs.js'

const CONNECTIONS_MAX = 32

/** What a control server needs. */
export interface ControlOptions extends Partial<SocketPathOptions> {
  readonly paths: StorePaths
  readonly verbs: ControlVerbs
  readonly timers?: Timers | undefined
  readonly turn?: Turn | undefined
}

/** A control socket that is listened on. */
export interface ControlServer {
  /** Where clients find it. */
  readonly path: string
  /** Answers what was read, takes nothing more, and removes the socket. Before the store's lock is let go. */
  close(): void
}

/** Listens for a store whose lock this process holds; rejects with a `KimError` where that cannot be (CP-1 to CP-5). */
export async function openControl(options: ControlOptions): Promise<ControlServer> {
  const { paths, verbs } = options
  const timers = options.timers ?? loopTimers
  const place = socketPathOf(paths, {
    platform: options.platform ?? process.platform,
    env: options.env ?? process.env,
  })
  const dispatcher = new ControlDispatcher(verbs, options.turn ?? loopTurn)
  const open = new Set<Connection>()
  const server = createServer({ allowHalfOpen: true }, socket => {
    if (open.size >= CONNECTIONS_MAX * 2) {
      socket.destroy()
      return
    }
    const isTooMany = open.size >= CONNECTIONS_MAX
    const connection = new Connection(socket, timers, line => dispatcher.take(line))
    open.add(connection)
    socket.on('close', () => open.delete(connection))
    if (isTooMany) connection.refuse(refusal(null, 'busy', `${CONNECTIONS_MAX} connections are already open`))
  })
  await bind(server, place, paths)
  return {
    path: place.path,
    close: () => {
      everyStep(
        () => dispatcher.stop(),
        () => void server.close(),
        ...[...open].map(connection => () => connection.close()),
        () => removeSocketPath(place, paths),
      )
    },
  }
}

async function bind(server: Server, place: SocketPath, paths: StorePaths): Promise<void> {
  try {
    prepareSocketPath(place, paths, currentHost().uid)
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(place.path, () => {
        server.off('error', reject)
        resolve()
      })
    })
    // Its directory is closed to others; the socket says so once more.
    if (place.kind !== 'pipe') chmodSync(place.path, 0o600)
    // A failed accept (no descriptors left) concerns the client that was not accepted.
    server.on('error', () => undefined)
  } catch (cause) {
    server.close()
    if (cause instanceof KimError) throw cause
    const code = (cause as NodeJS.ErrnoException).code ?? ''
    throw new KimError('store_failed', `cannot open the control socket ${place.path}: ${code}`, {
      cause,
      hint: 'check the permissions and the free space of its directory',
    })
  }
}
