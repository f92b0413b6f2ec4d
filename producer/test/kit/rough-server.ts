import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import type { Test } from 'tap'

/** One request as it came in, and the connection it came on. */
export interface Asked {
  readonly path: string
  readonly query: URLSearchParams
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly socket: Socket
  /** Which connection of the server this is, from 1. */
  readonly connection: number
  /** Which request of all, from 1. */
  readonly nth: number
}

/** A loopback server that says what it is told to, HTTP or not. */
export interface RoughServer {
  readonly port: number
  readonly url: string
  readonly asked: readonly Asked[]
  connections(): number
  /** Settles once so many requests have come in. */
  heard(count: number): Promise<void>
  close(): Promise<void>
}

/** A whole answer as text. */
export function httpText(status: number, body: string | Buffer, headers: readonly string[] = []): Buffer {
  const bytes = Buffer.from(body)
  const head = [`HTTP/1.1 ${status} Said`, `Content-Length: ${bytes.length}`, ...headers, '', ''].join('\r\n')
  return Buffer.concat([Buffer.from(head), bytes])
}

/** Answers with JSON. */
export function sayJson(asked: Asked, value: unknown, status = 200): void {
  asked.socket.write(httpText(status, JSON.stringify(value)))
}

/** Starts one; it ends with the test. */
export async function roughServer(
  t: Test,
  answer: (asked: Asked) => void,
  tls?: TlsOptions,
): Promise<RoughServer> {
  const asked: Asked[] = []
  const sockets = new Set<Socket>()
  const waiting: { readonly count: number; readonly done: () => void }[] = []
  let connections = 0

  function take(socket: Socket): void {
    const connection = ++connections
    sockets.add(socket)
    let text = ''
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
        const [first = '', ...lines] = text.slice(0, end).split('\r\n')
        text = text.slice(end + 4)
        const url = new URL(first.split(' ')[1] ?? '', 'http://any')
        const headers = new Map(
          lines.map(line => [
            line.slice(0, line.indexOf(':')).toLowerCase(),
            line.slice(line.indexOf(':') + 1).trim(),
          ]),
        )
        const one = {
          path: url.pathname,
          query: url.searchParams,
          headers,
          socket,
          connection,
          nth: asked.length + 1,
        }
        asked.push(one)
        answer(one)
        for (const { count, done } of waiting) if (asked.length >= count) done()
      }
    })
  }

  const server: Server = tls === undefined ? createServer(take) : createTlsServer(tls, take)
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const close = async (): Promise<void> => {
    if (!server.listening) return
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  }
  t.teardown(close)
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    asked,
    connections: () => connections,
    heard: count =>
      asked.length >= count ? Promise.resolve() : new Promise(done => void waiting.push({ count, done })),
    close,
  }
}
