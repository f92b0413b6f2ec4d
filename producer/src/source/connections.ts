import { Agent } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** How long a connection may be idle before it is closed, so that nothing on the way forgets it before we do. */
const IDLE_MS_MAX = 30_000

/** A server that speaks without being asked would be heard as the answer to the next request. */
function hangUp(this: Duplex): void {
  this.destroy()
}

/** The connections to one server, kept while they are idle. */
export class Connections extends Agent {
  readonly #connect: () => Socket

  constructor(connect: () => Socket) {
    super({ keepAlive: true, scheduling: 'lifo', timeout: IDLE_MS_MAX })
    this.#connect = connect
  }

  override createConnection(): Socket {
    return this.#connect()
  }

  override keepSocketAlive(socket: Duplex): boolean {
    socket.once('data', hangUp)
    super.keepSocketAlive(socket)
    return true
  }

  override reuseSocket(...args: Parameters<Agent['reuseSocket']>): void {
    args[0].removeListener('data', hangUp)
    super.reuseSocket(...args)
  }

  /** Ends idle connections: where one of them was found dead, the others are not to be trusted either. */
  dropIdle(): void {
    for (const sockets of Object.values(this.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy()
    }
  }
}
