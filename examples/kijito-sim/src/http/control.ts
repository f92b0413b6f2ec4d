import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Kijito } from '../model/kijito.js'
import { obey } from './script.js'
import type { Serving } from './serve.js'

/** A door for scripts in other processes: a command a POST, on loopback, apart from the account's own port. */
export interface ScriptServer {
  readonly url: string
  close(): Promise<void>
}

/** Opens the door. */
export async function openScriptServer(kijito: Kijito, serving: Serving, port = 0): Promise<ScriptServer> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) text += chunk
    // A page in a browser can post to loopback too, but it cannot choose this type without asking first.
    const isJson = request.headers['content-type']?.startsWith('application/json') === true
    const reply = isJson
      ? await obey(kijito, serving, parsed(text))
      : { ok: false, error: 'send a command as application/json' }
    response.writeHead(reply.ok ? 200 : 400, { 'content-type': 'application/json' })
    response.end(`${JSON.stringify(reply)}\n`)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve())
  })
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${bound}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
