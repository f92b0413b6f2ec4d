import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { SimResponse } from '../model/answer.js'
import type { HeldPoll, Instant, Kijito } from '../model/kijito.js'
import type { SimRequest } from '../model/request.js'
import { writeAnswer } from './write-answer.js'

/** Where a server listens. */
export interface ServeOptions {
  /** Loopback unless told otherwise. */
  readonly host?: string | undefined
  /** 0, the default: one that is free. */
  readonly port?: number | undefined
}

/** A model behind a socket. */
export interface Serving {
  readonly url: string
  readonly port: number
  /** Answers what is held and has news: to be called after whatever changed the model. */
  changed(): void
  /** Resolves once a request has come in or ended since the call. */
  stirred(): Promise<void>
  /** Refuses connections, cutting those that stand, until `open`; the port stays the same. */
  refuse(): Promise<void>
  open(): Promise<void>
  /** Resets every connection that stands. */
  cut(): void
  close(): Promise<void>
}

/** The longest body of a POST that is read. */
const BODY_BYTES = 1 << 20

/** The server's two clocks, now. */
export function readClocks(): Instant {
  return { monoMs: performance.now(), wallMs: Date.now() }
}

/** Serves a model over HTTP. */
export async function serve(kijito: Kijito, options: ServeOptions = {}): Promise<Serving> {
  const { host = '127.0.0.1' } = options
  const held = new Set<() => void>()
  const sockets = new Map<Socket, number>()
  let watchers: (() => void)[] = []
  let server: Server
  let port = options.port ?? 0

  const stir = (): void => {
    for (const watcher of watchers.splice(0)) watcher()
  }

  const deliver = (request: IncomingMessage, response: ServerResponse, answer: SimResponse): void => {
    const { socket } = request
    const served = sockets.get(socket) ?? 0
    sockets.set(socket, served + 1)
    stir()
    const wire =
      answer.wire.kind === 'reset-reused' && served > 0 ? ({ kind: 'reset' } as const) : answer.wire
    const send = (): void => {
      if (!socket.destroyed) writeAnswer(request, response, { ...answer, wire })
    }
    if (answer.delayMs === 0) send()
    else {
      const timer = setTimeout(send, answer.delayMs)
      socket.once('close', () => clearTimeout(timer))
    }
  }

  const hold = (request: IncomingMessage, response: ServerResponse, long: HeldPoll): void => {
    const settle = (): void => {
      const answer = long.settle(readClocks())
      if (answer === undefined) return
      release()
      deliver(request, response, answer)
    }
    // A timer may be early by a fraction of a millisecond, and nothing would ask again.
    const timer = setInterval(settle, Math.max(1, long.dueMs - performance.now() + 1))
    const gone = (): void => {
      release()
      long.leave(readClocks())
      stir()
    }
    const release = (): void => {
      clearInterval(timer)
      held.delete(settle)
      request.socket.off('close', gone)
    }
    held.add(settle)
    request.socket.once('close', gone)
  }

  const changed = (): void => {
    for (const settle of [...held]) settle()
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request)
    const asked = requestOf(request, body, sockets.get(request.socket) ?? 0)
    const outcome = kijito.ask(asked, readClocks())
    stir()
    if (outcome.kind === 'held') hold(request, response, outcome.held)
    else deliver(request, response, outcome.answer)
    if (asked.method !== 'GET') changed()
  }

  const listen = async (): Promise<void> => {
    server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      answer(request, response).catch(() => request.socket.destroy())
    })
    server.on('connection', socket => {
      sockets.set(socket, 0)
      socket.on('error', () => socket.destroy())
      socket.once('close', () => sockets.delete(socket))
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, () => resolve())
    })
    port = (server.address() as AddressInfo).port
  }

  const cut = (): void => {
    for (const socket of sockets.keys()) socket.resetAndDestroy()
  }

  const refuse = async (): Promise<void> => {
    const closed = new Promise<void>(resolve => server.close(() => resolve()))
    cut()
    await closed
  }

  await listen()
  return {
    get port() {
      return port
    },
    get url() {
      return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
    },
    changed,
    stirred: () => new Promise(resolve => watchers.push(resolve)),
    refuse,
    open: listen,
    cut,
    close: async () => {
      await refuse()
      watchers = []
    },
  }
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk
    if (text.length > BODY_BYTES) return undefined
  }
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function requestOf(request: IncomingMessage, body: unknown, served: number): SimRequest {
  const url = new URL(request.url ?? '/', 'http://server')
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const)
  return {
    method: request.method ?? 'GET',
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: Object.fromEntries(headers),
    body,
    served,
  }
}
