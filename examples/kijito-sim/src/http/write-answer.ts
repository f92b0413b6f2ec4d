import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { bodyBytes, type SimResponse } from '../model/answer.js'

/** Statuses that carry no body, whatever an answer says. */
const isBodiless = (status: number): boolean => status === 204 || status === 304

/** Puts an answer on the wire, in whatever way it is to travel. */
export function writeAnswer(request: IncomingMessage, response: ServerResponse, answer: SimResponse): void {
  const { socket } = request
  const { wire, status, headers } = answer
  const bytes = isBodiless(status) ? Buffer.alloc(0) : bodyBytes(answer.body)
  const head = (length: number): void => {
    response.writeHead(status, { ...headers, ...(isBodiless(status) ? {} : { 'content-length': length }) })
  }
  switch (wire.kind) {
    case 'whole':
    // On a connection of its own this one is an ordinary answer: the caller has seen to the other case.
    case 'reset-reused':
      head(bytes.length)
      response.end(bytes)
      return
    case 'reset':
      socket.resetAndDestroy()
      return
    case 'close':
      socket.destroy()
      return
    case 'garbage':
      socket.end(wire.text)
      return
    case 'short':
      head(bytes.length)
      response.write(bytes.subarray(0, Math.max(0, bytes.length - wire.missing)), () => socket.end())
      return
    case 'broken-chunk': {
      const half = bytes.subarray(0, bytes.length >> 1)
      socket.write(
        `HTTP/1.1 ${status} OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
      )
      socket.write(`${bytes.length.toString(16)}\r\n`)
      socket.end(half)
      return
    }
    case 'drip':
      head(bytes.length)
      response.flushHeaders()
      drip(response, socket, bytes, wire.bytes, wire.everyMs)
      return
    case 'stall':
      head(bytes.length + 1)
      response.flushHeaders()
      return
    case 'hang':
      return
  }
}

function drip(response: ServerResponse, socket: Socket, bytes: Buffer, size: number, everyMs: number): void {
  let at = 0
  const next = (): void => {
    if (socket.destroyed) return
    response.write(bytes.subarray(at, at + size))
    at += size
    if (at < bytes.length) timer = setTimeout(next, everyMs)
    else response.end()
  }
  let timer = setTimeout(next, 0)
  socket.once('close', () => clearTimeout(timer))
}
