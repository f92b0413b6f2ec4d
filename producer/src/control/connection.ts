import type { Socket } from 'node:net'
import type { Timers } from '../effects/timers.js'
import type { ControlAnswer } from './control-dispatcher.js'
import { LineSplitter } from './line-splitter.js'
import { encodeReply, type Reply, refusal } from './reply.js'
import { REQUEST_BYTES_MAX } from './request.js'

const IDLE_MS_MAX = 60_000
/** How long, and how much, a client may leave unread. */
const UNREAD_MS_MAX = 5000
const UNREAD_BYTES_MAX = 1 << 20

/** Answers a line. */
export type Take = (line: Buffer) => Promise<ControlAnswer>

/** One client's connection. Nothing it does can make anybody else wait: it is closed instead (CP-14, CP-15). */
export class Connection {
  readonly #socket: Socket
  readonly #timers: Timers
  readonly #take: Take
  readonly #lines = new LineSplitter(REQUEST_BYTES_MAX)
  #unanswered = 0
  #unsent = 0
  /** Nothing more is read; it ends with the last reply. */
  #isEnding = false
  #hasEnded = false
  #isHasty = false
  #stopIdle: (() => void) | undefined
  #stopUnread: (() => void) | undefined

  constructor(socket: Socket, timers: Timers, take: Take) {
    this.#socket = socket
    this.#timers = timers
    this.#take = take
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
      this.#take(line).then(answer => this.#answer(answer))
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
    socket.write(encodeReply(reply), () => {
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
    // Closed at once, what it was told last could be lost to a client that is still sending; what it sends is let go.
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
