import type { LookupAddress } from 'node:dns'
import { classOfAddress, connectTo, openSource, type Resolve, type Target } from '@kim/producer/internal'
import t from 'tap'
import { roughServer, sayJson } from '../kit/rough-server.js'
import { quiet, reasonOf, testSource } from '../kit/source.js'

const argus = { persona: 'argus' }

const CLASSES: Readonly<Record<string, readonly string[]>> = {
  public: [
    '1.1.1.1',
    '172.32.0.1',
    '100.128.0.1',
    '11.0.0.0',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
    '2001:0:1:2:3:4:f7f7:f7f7',
  ],
  loopback: [
    '127.0.0.1',
    '127.255.255.254',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '::ffff:0:127.0.0.1',
    '2001:0:1:2:3:4:80ff:fffe',
  ],
  private: [
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '169.254.169.254',
    'fd00::1',
    'fc00::1',
    'fe80::1',
    'fe80::1%eth0',
    '::ffff:10.1.2.3',
    '::ffff:169.254.1.1',
    '64:ff9b::a00:1',
  ],
  never: [
    '0.0.0.0',
    '0.1.2.3',
    '::',
    '::ffff:0.0.0.0',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '192.0.2.1',
    '198.51.100.7',
    '203.0.113.9',
    '198.18.0.1',
    '192.0.0.8',
    'ff02::1',
    'fec0::1',
    '2001:db8::1',
    '3fff::1',
    '100::1',
    '64:ff9b:1::1',
    '4000::1',
    '5f00::1',
    'nothing',
    '',
    '1.2.3',
    '1.2.3.4.5',
    '::g',
  ],
}

t.test('address - judged by what it is, IPv4 inside IPv6 by the IPv4 (KS-81)', async t => {
  for (const [is, addresses] of Object.entries(CLASSES)) {
    for (const address of addresses) t.equal(classOfAddress(address), is, address)
  }
})

const never: Resolve = () => {
  throw new Error('a literal is not resolved')
}

const open = (url: string, more: object = {}): Promise<unknown> =>
  openSource({ url, dialect: 'local', version: '0', env: {}, resolve: never, ...more }).then(source =>
    source.close(),
  )

const refusalOf = (url: string, more: object): Promise<unknown> =>
  open(url, more).catch((error: unknown) => error)

t.test('url - is scheme, host and port, and nothing else (KS-80, N7)', async t => {
  const bad = [
    'file:///etc/x',
    'localhost:7474',
    'ftp://h',
    'http://',
    'http://h/path',
    'http://h/?q',
    'http://h/?',
    'http://h#f',
    'http://u@h',
    'http://u:kjt_secret@h',
    'x',
    '',
    'http://.',
  ]
  for (const url of bad) {
    await t.rejects(open(url), { code: 'usage', exitCode: 2 }, url)
    const error = await open(url).catch(String)
    t.notMatch(error, /kjt_secret/)
  }
})

t.test('url - two known ones imply the dialect, any other needs it (KS-2)', async t => {
  const dialectOf = async (url: string, more: object = {}): Promise<unknown> =>
    (
      await openSource({
        url,
        version: '0',
        env: { KIM_TOKEN: 'x' },
        resolve: async () => [{ address: '1.1.1.1', family: 4 }],
        ...more,
      })
    ).dialect
  const loopback = { resolve: async () => [{ address: '127.0.0.1', family: 4 }] }
  t.equal(await dialectOf('http://localhost:7474', loopback), 'local')
  t.equal(await dialectOf('http://127.0.0.1:7474/'), 'local')
  t.equal(await dialectOf('https://api.kijito.ai'), 'hosted')
  t.equal(await dialectOf('https://API.kijito.ai.:443'), 'hosted', 'in any spelling')
  t.equal(
    await dialectOf('http://localhost:7474', { ...loopback, dialect: 'hosted' }),
    'hosted',
    'unless said otherwise',
  )
  await t.rejects(dialectOf('https://kijito.test'), { code: 'usage', exitCode: 2 })
})

t.test(
  'destination - loopback, private and unusable addresses are refused at once (KS-81, N2, N4)',
  async t => {
    const asked = await roughServer(t, one => sayJson(one, { result: [] }))
    const refused = [
      'http://127.0.0.1:9',
      'http://2130706433:9',
      'http://0x7f.1:9',
      'http://[::1]:9',
      'http://[::ffff:127.0.0.1]:9',
      'http://10.0.0.1',
      'http://169.254.169.254',
      'http://0.0.0.0:7474',
      'http://[::]:7474',
      asked.url,
    ]
    for (const url of refused) await t.rejects(open(url), { code: 'config_invalid', exitCode: 2 }, url)
    const unusable = ['http://0.0.0.0', 'http://224.0.0.1', 'http://255.255.255.255', 'http://[ff02::1]']
    for (const url of unusable) {
      await t.rejects(open(url, { allowLoopback: true, allowPrivate: true }), { code: 'config_invalid' }, url)
    }
    t.match(
      await refusalOf('http://127.0.0.1:9', { allowPrivate: true }),
      { hint: /--allow-loopback/ },
      'neither stands for the other',
    )
    t.match(await refusalOf('http://10.0.0.1', { allowLoopback: true }), { hint: /--allow-private/ })
    await t.resolves(open('http://127.0.0.1:9', { allowLoopback: true }), 'N3')
    await t.resolves(open('http://[fd00::1]', { allowPrivate: true }))
    for (const url of ['http://127.0.0.1:7474', 'http://[::1]:7474']) await t.resolves(open(url), url)
    t.equal(asked.asked.length, 0)
  },
)

t.test(
  'destination - every address of a name is judged, and the local name leads nowhere else (KS-81)',
  async t => {
    const resolvesTo =
      (...addresses: string[]): Resolve =>
      async () =>
        addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
    const name = 'http://kijito.test'
    await t.rejects(open(name, { resolve: resolvesTo('1.1.1.1', '127.0.0.1') }), {
      code: 'config_invalid',
      message: /127\.0\.0\.1/,
    })
    await t.rejects(open(name, { resolve: resolvesTo('2606:4700::1111', '::ffff:10.0.0.1') }), {
      code: 'config_invalid',
    })
    await t.resolves(open(name, { resolve: resolvesTo('1.1.1.1', '2606:4700::1111') }))
    await t.resolves(open('http://localhost:7474', { resolve: resolvesTo('127.0.0.1', '::1') }))
    await t.rejects(open('http://localhost:7474', { resolve: resolvesTo('1.1.1.1', '192.168.0.1') }), {
      code: 'config_invalid',
    })
  },
)

t.test('destination - a connection is made to a judged address alone, under the name (KS-82)', async t => {
  const server = await roughServer(t, asked => sayJson(asked, { result: [] }))
  const targets: Target[] = []
  let resolved = 0
  let answer: readonly LookupAddress[] = [{ address: '1.1.1.1', family: 4 }]
  let isDown = false
  const source = await testSource(t, 'http://kijito.test:8080', {
    allowLoopback: false,
    resolve: async host => {
      t.equal(host, 'kijito.test')
      resolved++
      return answer
    },
    connect: target => {
      targets.push(target)
      const port = isDown ? 1 : server.port
      return connectTo({ ...target, port, addresses: [{ address: '127.0.0.1', family: 4 }] })
    },
  })
  t.equal(resolved, 1, 'judged before any request')
  t.equal((await source.page(argus, quiet)).ok, true)
  t.equal((await source.page(argus, quiet)).ok, true)
  t.match(targets, [{ host: 'kijito.test', port: 8080, addresses: [{ address: '1.1.1.1' }] }])
  t.equal(server.asked[0]?.headers.get('host'), 'kijito.test:8080')
  t.equal(resolved, 1)

  isDown = true
  server.asked[0]?.socket.destroy()
  await new Promise(resolve => setTimeout(resolve, 20))
  t.match(reasonOf(await source.page(argus, quiet)), /^unreachable: connection refused/)
  answer = [{ address: '127.0.0.1', family: 4 }]
  t.equal(
    reasonOf(await source.page(argus, quiet)),
    'unreachable: http://kijito.test:8080 leads to 127.0.0.1, a loopback address',
    'a name that turned is judged again, and nothing is sent',
  )
  t.equal(targets.length, 2)
  isDown = false
  answer = [{ address: '8.8.8.8', family: 4 }]
  t.equal((await source.page(argus, quiet)).ok, true)
  t.match(targets[2], { addresses: [{ address: '8.8.8.8' }] })
  t.equal(resolved, 3)
})

t.test(
  'destination - a name that is not resolved is a failure of the request, not of the start (KS-17, KS-51)',
  async t => {
    const server = await roughServer(t, asked => sayJson(asked, { result: [] }))
    let answer: readonly LookupAddress[] | undefined
    const source = await testSource(t, 'http://kijito.test', {
      resolve: async () => {
        if (answer === undefined)
          throw Object.assign(new Error('no such name kijito.test'), { code: 'ENOTFOUND' })
        return answer
      },
      connect: target => connectTo({ ...target, port: server.port }),
    })
    t.equal(reasonOf(await source.page(argus, quiet)), 'unreachable: name not resolved (ENOTFOUND)')
    answer = []
    t.match(reasonOf(await source.page(argus, quiet)), /^unreachable: name not resolved/)
    answer = [{ address: '127.0.0.1', family: 4 }]
    t.equal((await source.page(argus, quiet)).ok, true)
  },
)

t.test('destination - a proxy of the environment is not used (KS-82)', async t => {
  const proxy = await roughServer(t, asked => sayJson(asked, {}, 500))
  const server = await roughServer(t, asked => sayJson(asked, { result: [] }))
  for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY']) {
    const before = process.env[name]
    process.env[name] = proxy.url
    t.teardown(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
  const source = await testSource(t, server.url)
  t.equal((await source.page(argus, quiet)).ok, true)
  t.equal(proxy.connections(), 0)
})

t.test('destination - of several addresses the first that answers is taken (KS-82)', async t => {
  const server = await roughServer(t, asked => sayJson(asked, { result: [] }))
  const source = await testSource(t, `http://kijito.test:${server.port}`, {
    resolve: async () => [
      { address: '127.0.0.9', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ],
  })
  t.equal((await source.page(argus, quiet)).ok, true)
})

t.test('CL-14 open - a resolver that does not answer holds up no end', async t => {
  const controller = new AbortController()
  const source = openSource({
    ...{ url: 'http://kijito.example', dialect: 'local', version: '0', env: {} },
    resolve: () => new Promise(() => undefined),
    timers: { after: () => () => undefined },
    signal: controller.signal,
  })
  controller.abort('SIGTERM')
  ;(await source).close()
  t.pass('it comes without waiting')
})
