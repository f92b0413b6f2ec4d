import { chmodSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { KimError, type StorePaths } from '@kim/manifest'
import { everyStep } from '../effects/every-step.js'
import { currentHost, loopTimers, loopTurn, type Timers, type Turn } from '../effects/system.js'
import { LineSplitter, REQUEST_BYTES_MAX, type Reply, refusal } from './protocol.js'
import {
  prepareSocketPath,
  removeSocketPath,
  type SocketPath,
  type SocketPathOptions,
  socketPathOf,
} from './socket-path.js'
import { type ControlAnswer, ControlDispatcher, type ControlVerbs } from './verbs.js'

const CONNECTIONS_MAX = 32
const IDLE_MS_MAX = 60_000
/** How long, and how many bytes, a client may leave unread. */
const UNREAD_MS_MAX = 5000
const UNREAD_BYTES_MAX = 1 << 20

/** What a control server needs. */
export interface ControlOptions extends SocketPathOptions {
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

/** Listens for a store whose lock this process holds; rejects with a `KimError` if that is impossible (CP-1 to CP-5). */
export async function openControl(options: ControlOptions): Promise<ControlServer> {
  const { paths, verbs } = options
  const timers = options.timers ?? loopTimers
  const place = socketPathOf(paths, options)
  const dispatcher = new ControlDispatcher(verbs, options.turn ?? loopTurn)
  const open = new Set<Connection>()
  const server = createServer({ allowHalfOpen: true }, socket => {
    if (open.size >= CONNECTIONS_MAX * 2) return void socket.destroy()
    const isTooMany = open.size >= CONNECTIONS_MAX
    const connection = new Connection(socket, timers, dispatcher)
    open.add(connection)
    socket.on('close', () => open.delete(connection))
    if (isTooMany) connection.refuse(refusal(null, 'busy', `${CONNECTIONS_MAX} connections are already open`))
  })
  await bind(server, place, paths)
  return {
    path: place.path,
    close: () =>
      everyStep(
        () => dispatcher.stop(),
        () => void server.close(),
        ...[...open].map(connection => () => connection.close()),
        () => removeSocketPath(place, paths),
      ),
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
    // Its directory is closed to others already.
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

/** One client's connection. It is closed before it could make other clients wait (CP-14, CP-15). */
class Connection {
  readonly #socket: Socket
  readonly #timers: Timers
  readonly #dispatcher: ControlDispatcher
  readonly #lines = new LineSplitter(REQUEST_BYTES_MAX)
  #unanswered = 0
  #unsent = 0
  /** Nothing more is read; it ends with the last reply. */
  #isEnding = false
  #hasEnded = false
  #isHasty = false
  #stopIdle: (() => void) | undefined
  #stopUnread: (() => void) | undefined

  constructor(socket: Socket, timers: Timers, dispatcher: ControlDispatcher) {
    this.#socket = socket
    this.#timers = timers
    this.#dispatcher = dispatcher
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('end', () => this.#end())
    // A client that goes away is no trouble of ours; `close` follows.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#isEnding = true
      this.#stopIdle?.()
      this.#stopUnread?.()
    })
    this.#rest()
  }

  /** Says why it is closed, and closes it. */
  refuse(reply: Reply): void {
    this.#write(reply)
    this.#end()
  }

  /** Closes it once what is under way was answered, without waiting for the other side. */
  close(): void {
    this.#isHasty = true
    this.#end()
  }

  #read(chunk: Buffer): void {
    if (this.#isEnding) return
    for (const line of this.#lines.push(chunk)) {
      this.#unanswered++
      this.#dispatcher.take(line).then(answer => this.#answer(answer))
    }
    if (this.#lines.isTooLong) {
      this.refuse(refusal(null, 'too_large', `the request line has more than ${REQUEST_BYTES_MAX} bytes`))
      return
    }
    this.#rest()
  }

  #answer({ reply, after }: ControlAnswer): void {
    this.#unanswered--
    this.#write(reply, after)
    if (this.#isEnding) this.#end()
    else this.#rest()
  }

  #write(reply: Reply, after: () => void = () => undefined): void {
    const socket = this.#socket
    if (!socket.writable) {
      // A request that was read is done, whether or not somebody waits for the reply (CP-7).
      after()
      return
    }
    if (socket.writableLength > UNREAD_BYTES_MAX) {
      socket.destroy()
      after()
      return
    }
    this.#unsent++
    this.#stopUnread ??= this.#timers.after(UNREAD_MS_MAX, () => socket.destroy())
    socket.write(`${JSON.stringify(reply)}\n`, () => {
      if (--this.#unsent === 0 && !this.#hasEnded) {
        this.#stopUnread?.()
        this.#stopUnread = undefined
      }
      after()
    })
  }

  #end(): void {
    this.#isEnding = true
    if (this.#unanswered > 0) return
    this.#stopIdle?.()
    const socket = this.#socket
    if (this.#isHasty) socket.destroySoon()
    if (this.#hasEnded) return
    this.#hasEnded = true
    // If it were destroyed now, a client that is still sending could lose the last reply. What it sends is dropped.
    socket.end()
    socket.resume()
    this.#stopUnread ??= this.#timers.after(UNREAD_MS_MAX, () => socket.destroy())
  }

  /** Starts the time after which a connection that nothing happens on is closed. */
  #rest(): void {
    this.#stopIdle?.()
    this.#stopIdle = undefined
    if (this.#isEnding || this.#unanswered > 0) return
    this.#stopIdle = this.#timers.after(IDLE_MS_MAX, () => this.#end())
  }
}
