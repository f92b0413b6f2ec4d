import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** A server on loopback that answers each path in one way, and the flags that lead to it. */
export async function serve(
  t: Test,
  answer: (path: string) => { status: number; body: unknown },
): Promise<string[]> {
  const server = createServer((request, response) => {
    const { status, body } = answer(request.url ?? '')
    const location = status === 302 ? { location: 'http://127.0.0.1:9/' } : {}
    response.writeHead(status, { 'content-type': 'application/json', ...location })
    response.end(JSON.stringify(body))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return ['--url', `http://127.0.0.1:${port}`, '--allow-loopback', '--dialect', 'local']
}
