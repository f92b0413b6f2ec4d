import { once } from 'node:events'
import { createServer } from 'node:net'
import { connectTo, type Source } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { type SelfSigned, selfSigned } from '../kit/certificate.js'
import { type RoughServer, roughServer, sayJson } from '../kit/rough-server.js'
import { quiet, reasonOf, testSource, tokenOf } from '../kit/source.js'

const argus = { persona: 'argus' }
const own = selfSigned('kijito.test')

function secureServer(t: Test, certificate: SelfSigned): Promise<RoughServer> {
  return roughServer(t, asked => sayJson(asked, { result: [] }), certificate)
}

/** A source whose host has a public address, which a connector turns to the loopback server at the last moment. */
function secureSource(
  t: Test,
  host: string,
  server: Pick<RoughServer, 'port'>,
  trusted?: SelfSigned,
): Promise<Source> {
  return testSource(t, `https://${host}`, {
    allowLoopback: false,
    env: { KIM_TOKEN: 'kjt_secret' },
    resolve: async () => [{ address: '1.1.1.1', family: 4 }],
    connect: target =>
      connectTo(
        { ...target, port: server.port, addresses: [{ address: '127.0.0.1', family: 4 }] },
        trusted?.cert,
      ),
  })
}

t.test(
  'tls - a certificate for the host, from who is trusted, is taken, and its connection kept (KS-82)',
  async t => {
    const server = await secureServer(t, own)
    const source = await secureSource(t, 'kijito.test', server, own)
    for (let n = 0; n < 3; n++) t.equal(reasonOf(await source.page(argus, quiet)), '')
    t.equal(server.connections(), 1)
    t.equal(server.asked[0]?.headers.get('host'), 'kijito.test')
    t.match(server.asked[0]?.socket, { servername: 'kijito.test' })
  },
)

t.test(
  'tls - a certificate of another host, or from a stranger, gets no request and no token (KS-17, KS-82)',
  async t => {
    const server = await secureServer(t, own)
    const other = await secureSource(t, 'other.test', server, own)
    t.match(reasonOf(await other.page(argus, quiet)), /^unreachable: .*ERR_TLS_CERT_ALTNAME_INVALID/)
    const stranger = await secureSource(t, 'kijito.test', server)
    t.match(reasonOf(await stranger.page(argus, quiet)), /^unreachable: .*(SELF_SIGNED|UNABLE_TO)/)
    t.equal(server.asked.length, 0)
  },
)

t.test('tls - a server that does not speak it is unreachable (KS-17)', async t => {
  const plain = createServer(socket => {
    socket.on('error', () => undefined)
    socket.end('HTTP/1.1 400 Plain\r\n\r\n')
  }).listen(0, '127.0.0.1')
  t.teardown(() => plain.close())
  await once(plain, 'listening')
  const { port } = plain.address() as { port: number }
  const source = await secureSource(t, 'kijito.test', { port }, own)
  t.equal(tokenOf(await source.page(argus, quiet)), 'unreachable')
})
