import { connect } from 'node:net'
import t from 'tap'
import { ManualTime } from '../kit/manual-time.js'
import { type Asked, httpText, roughServer, sayJson } from '../kit/rough-server.js'
import { quiet, reasonOf, testSource, tokenOf } from '../kit/source.js'

const argus = { persona: 'argus' }
const empty = { result: [] }

t.test(
  'request - names its agent, its encoding and its query, and marks nothing read (KS-3, KS-4)',
  async t => {
    const server = await roughServer(t, asked => sayJson(asked, empty))
    const source = await testSource(t, server.url, { env: { KIM_TOKEN: ' kjt_secret\n' } })
    t.equal((await source.page({ persona: 'Ärgus/&?', beforeId: 0, unreadOnly: true }, quiet)).ok, true)
    const [asked] = server.asked
    t.equal(asked?.path, '/api/inbox')
    t.same(Object.fromEntries(asked?.query ?? []), {
      persona: 'Ärgus/&?',
      mark_read: 'false',
      before_id: '0',
      unread_only: 'true',
    })
    t.same(Object.fromEntries(asked?.headers ?? []), {
      host: `127.0.0.1:${server.port}`,
      'user-agent': 'kim/0.0.0-test',
      'accept-encoding': 'identity',
      authorization: 'Bearer kjt_secret',
      connection: 'keep-alive',
    })
    await source.counts({ waitSeconds: 0 }, quiet)
    await source.counts({ waitSeconds: 3, cursor: 'a b&c' }, quiet)
    t.equal(server.asked[1]?.query.toString(), '', 'F10: nothing is waited for')
    t.same(Object.fromEntries(server.asked[2]?.query ?? []), { wait: '3', cursor: 'a b&c' })
  },
)

t.test('request - for a page of a walk, an empty answer is judged as one (KS-21, KS-23)', async t => {
  const server = await roughServer(t, asked =>
    sayJson(asked, { result: [], truncated: true, next_before_id: 100 }),
  )
  const source = await testSource(t, server.url, { dialect: 'hosted', env: { KIM_TOKEN: 'x' } })
  t.equal(tokenOf(await source.page(argus, quiet)), 'shape-invalid')
  t.match(await source.page({ persona: 'argus', beforeId: 150 }, quiet), { ok: true, value: { rows: [] } })
})

t.test('connection - is kept for the next request (KS-7)', async t => {
  const server = await roughServer(t, asked => sayJson(asked, empty))
  const source = await testSource(t, server.url)
  for (let n = 0; n < 5; n++) t.equal((await source.page(argus, quiet)).ok, true)
  t.equal(server.connections(), 1)
})

t.test('connection - reset before the first byte, having served: one retry on a new one (KS-7)', async t => {
  const server = await roughServer(t, asked => {
    if (asked.connection <= 2 && asked.nth > 2) asked.socket.resetAndDestroy()
    else sayJson(asked, empty)
  })
  const source = await testSource(t, server.url)
  await Promise.all([source.page(argus, quiet), source.page(argus, quiet)])
  t.equal(server.connections(), 2, 'two connections are idle, and both are given up by the server')
  t.equal((await source.page(argus, quiet)).ok, true)
  t.equal(server.connections(), 3)
  t.equal((await source.page(argus, quiet)).ok, true)
})

for (const [how, end] of [
  ['reset', (asked: Asked) => asked.socket.resetAndDestroy()],
  ['closed', (asked: Asked) => asked.socket.end()],
] as const) {
  t.test(`connection - ${how} at every try: two tries, then a failure (KS-7)`, async t => {
    const server = await roughServer(t, asked => (asked.nth === 1 ? sayJson(asked, empty) : end(asked)))
    const source = await testSource(t, server.url)
    await source.page(argus, quiet)
    t.equal(tokenOf(await source.page(argus, quiet)), 'unreachable')
    t.equal(server.asked.length, 3)
  })

  t.test(`connection - a fresh one ${how} is a failure at once (KS-7, D7)`, async t => {
    const server = await roughServer(t, end)
    const source = await testSource(t, server.url)
    t.equal(tokenOf(await source.page(argus, quiet)), 'unreachable')
    t.equal(server.asked.length, 1)
  })
}

t.test('connection - reset after the first byte is a failure, though it had served (KS-7)', async t => {
  const server = await roughServer(t, asked => {
    if (asked.nth === 1) return sayJson(asked, empty)
    asked.socket.write('HTTP/1.1 200 OK\r\nContent-Le', () => asked.socket.resetAndDestroy())
  })
  const source = await testSource(t, server.url)
  await source.page(argus, quiet)
  t.equal(tokenOf(await source.page(argus, quiet)), 'unreachable')
  t.equal(server.asked.length, 2)
})

t.test('connection - one that speaks while idle is not used again', async t => {
  const late = { result: [{ id: 666 }] }
  const server = await roughServer(t, asked => {
    sayJson(asked, empty)
    if (asked.nth === 1) setTimeout(() => sayJson(asked, late), 20)
  })
  const source = await testSource(t, server.url)
  await source.page(argus, quiet)
  await new Promise(resolve => server.asked[0]?.socket.once('close', resolve))
  t.match(await source.page(argus, quiet), { ok: true, value: { rows: [] } })
  t.equal(server.connections(), 2)
})

t.test('connection - refused is unreachable (D7)', async t => {
  const server = await roughServer(t, () => undefined)
  await server.close()
  const source = await testSource(t, server.url)
  t.equal(reasonOf(await source.page(argus, quiet)), 'unreachable: connection refused (ECONNREFUSED)')
})

t.test('redirect - is never followed, with or without a way to go (KS-5, D2)', async t => {
  const answers = [
    httpText(302, '', ['Location: /api/inbox?persona=argus&mark_read=true']),
    httpText(301, ''),
    httpText(307, '', ['Location: http://127.0.0.1:1/elsewhere']),
    httpText(304, ''),
  ]
  const server = await roughServer(t, asked => void asked.socket.write(answers[asked.nth - 1] ?? ''))
  const source = await testSource(t, server.url)
  for (const status of [302, 301, 307, 304]) {
    t.match(await source.page(argus, quiet), { ok: false, failure: { token: 'redirect', status } })
  }
  t.equal(server.asked.length, answers.length)
})

t.test('status - is the reason, whatever body comes with it (KS-17, D1)', async t => {
  const server = await roughServer(t, asked => {
    const status = Number(asked.query.get('persona'))
    if (status === 503)
      asked.socket.write('HTTP/1.1 503 No\r\nContent-Length: 9999999\r\n\r\n'.padEnd(200_000, 'x'))
    else if (status === 502) asked.socket.end('HTTP/1.1 502 No\r\nContent-Length: 50\r\n\r\nshort')
    else sayJson(asked, { error: 'kjt_leak' }, status)
  })
  const source = await testSource(t, server.url)
  for (const status of [500, 503, 502, 429, 403, 401, 404]) {
    const answer = await source.page({ persona: String(status) }, quiet)
    t.match(answer, { ok: false, failure: { token: `http ${status}`, status, reason: `http ${status}` } })
  }
})

t.test('status - a 206 with a good body, and a body with a mark before it, are healthy (D15)', async t => {
  const bodies = [httpText(206, '{"result":[]}'), httpText(200, '\ufeff{"result":[]}')]
  const server = await roughServer(t, asked => void asked.socket.write(bodies[asked.nth - 1] ?? ''))
  const source = await testSource(t, server.url)
  t.equal((await source.page(argus, quiet)).ok, true)
  t.equal((await source.page(argus, quiet)).ok, true)
})

const BROKEN: readonly (readonly [what: string, bytes: string | Buffer, token: string])[] = [
  ['a garbage status line (D9)', 'SMTP says hello\r\n\r\n', 'unreachable'],
  ['a status that is no number (D9)', 'HTTP/1.1 abc OK\r\n\r\n', 'unreachable'],
  [
    'a body shorter than announced (D10)',
    'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"result":[]}',
    'unreachable',
  ],
  [
    'a broken chunk (D10)',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{"result":[]}',
    'unreachable',
  ],
  [
    'chunks that never end (D10)',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n{"result":[]}\r\n',
    'unreachable',
  ],
  ['a header without end', `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(100_000)}`, 'unreachable'],
  [
    'an upgrade without a request',
    'HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    'unreachable',
  ],
  [
    'two lengths',
    'HTTP/1.1 200 OK\r\nContent-Length: 13\r\nContent-Length: 14\r\n\r\n{"result":[]}',
    'unreachable',
  ],
  ['no content (D3)', 'HTTP/1.1 204 No\r\n\r\n', 'parse-fail'],
  ['an empty body (D3)', httpText(200, ''), 'parse-fail'],
  ['text (D3)', httpText(200, '<html>kjt_leak</html>'), 'parse-fail'],
  ['JSON cut off, without a length (D3)', 'HTTP/1.1 200 OK\r\n\r\n{"result":[', 'parse-fail'],
  ['invalid UTF-8 (D3)', httpText(200, Buffer.from('7b22726573756c74223a5b22ff225d7d', 'hex')), 'parse-fail'],
  ['two marks before it', httpText(200, '\ufeff\ufeff{"result":[]}'), 'parse-fail'],
  ['NaN', httpText(200, '{"result":[{"id":NaN}]}'), 'parse-fail'],
  ['100 000 nested arrays (D11)', httpText(200, '['.repeat(100_000) + ']'.repeat(100_000)), 'parse-fail'],
  [
    '300 nested objects in a row',
    httpText(200, `{"result":[{"id":1,"x":${'{"a":'.repeat(300)}1${'}'.repeat(300)}}]}`),
    'parse-fail',
  ],
  [
    'an encoding without a request',
    httpText(200, Buffer.from('1f8b0800000000000003', 'hex'), ['Content-Encoding: gzip']),
    'parse-fail',
  ],
]

t.test('answer - broken in whatever way, it is a failed request and nothing else (KS-9)', async t => {
  const server = await roughServer(
    t,
    asked => void asked.socket.end(BROKEN[Number(asked.query.get('persona'))]?.[1] ?? ''),
  )
  const source = await testSource(t, server.url)
  for (const [index, [what, , token]] of BROKEN.entries()) {
    const answer = await source.page({ persona: String(index) }, quiet)
    t.equal(tokenOf(answer), token, what)
    t.notMatch(reasonOf(answer), /kjt_leak/)
  }
})

t.test('answer - over 32 MiB ends with failure, and is not read to its end (KS-6)', async t => {
  let sent = 0
  const server = await roughServer(t, asked => {
    if (asked.nth > 1) return sayJson(asked, empty)
    const piece = Buffer.alloc(1 << 20, 0x20)
    asked.socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const more = (): void => {
      if (asked.socket.destroyed || sent > 256 << 20) return
      sent += piece.length
      asked.socket.write(piece, () => setImmediate(more))
    }
    more()
  })
  const source = await testSource(t, server.url)
  t.equal(reasonOf(await source.page(argus, quiet)), 'parse-fail: more than 33554432 bytes')
  t.ok(sent < 128 << 20, 'the connection was closed')
  t.equal((await source.page(argus, quiet)).ok, true)
})

t.test('answer - in single bytes is an answer', async t => {
  const server = await roughServer(t, asked => {
    const chunks = Array.from('{"result":[{"id":5}]}', byte => `1\r\n${byte}\r\n`)
    asked.socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`)
  })
  const source = await testSource(t, server.url)
  t.match(await source.page(argus, quiet), { ok: true, value: { rows: [{ id: 5 }] } })
})

t.test('deadline - five seconds without a byte (KS-6, D8)', async t => {
  const time = new ManualTime()
  const server = await roughServer(t, () => undefined)
  const source = await testSource(t, server.url, { clock: time, timers: time })
  const answer = source.page(argus, quiet)
  await server.heard(1)
  time.pass(4999)
  t.equal(time.pending, 1)
  time.pass(1)
  t.match(await answer, {
    ok: false,
    failure: { reason: 'unreachable: the server sent no data for 5 s' },
    sentMs: 1000,
    receivedMs: 6000,
  })
  t.equal(time.pending, 0)
})

t.test(
  'deadline - a drip of single bytes counts as total, in the header and in the body (KS-6, D12)',
  async t => {
    for (const start of ['', 'HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n', 'HTTP/1.1 500 No\r\n\r\n']) {
      const time = new ManualTime()
      const server = await roughServer(t, asked => void asked.socket.write(start))
      const source = await testSource(t, server.url, { clock: time, timers: time })
      let ended = false
      const answer = source.page(argus, quiet).finally(() => {
        ended = true
      })
      await server.heard(1)
      const { socket } = server.asked[0] as Asked
      const drip = 'HTTP/1.1 200 OK'
      for (let n = 0; n < 15; n++) {
        t.equal(ended, false, `after ${n * 2} s`)
        await new Promise(resolve => socket.write(drip[n] ?? '', resolve))
        // The byte is on its way through the kernel; the client has it a few turns of the loop later.
        await new Promise(resolve => setTimeout(resolve, 10))
        for (let turns = 0; turns < 3; turns++) await new Promise(resolve => setImmediate(resolve))
        time.pass(2000)
      }
      const reason = start.includes('500') ? 'http 500' : 'unreachable: no complete answer within 30 s'
      t.equal(reasonOf(await answer), reason)
      t.equal(time.pending, 0)
    }
  },
)

t.test('deadline - a long poll is held for its wait and ten seconds, and no longer (KS-6, F9)', async t => {
  const time = new ManualTime()
  const server = await roughServer(t, () => undefined)
  const source = await testSource(t, server.url, { clock: time, timers: time })
  const answer = source.counts({ waitSeconds: 50 }, quiet)
  await server.heard(1)
  time.pass(59_999)
  t.equal(time.pending, 1, 'silence is what a held request is for')
  time.pass(1)
  t.equal(reasonOf(await answer), 'unreachable: no complete answer within 60 s')
})

t.test(
  'deadline - covers a connection that is never made and a name that is never resolved (KS-6)',
  async t => {
    const time = new ManualTime()
    const source = await testSource(t, 'http://127.0.0.1:9', {
      clock: time,
      timers: time,
      connect: () => connect({ host: 'kijito.test', port: 1, lookup: () => undefined }),
    })
    const answer = source.page(argus, quiet)
    await new Promise(setImmediate)
    time.pass(5000)
    t.equal(reasonOf(await answer), 'unreachable: the server sent no data for 5 s')

    const open = testSource(t, 'http://kijito.test', {
      clock: time,
      timers: time,
      resolve: () => new Promise(() => undefined),
    })
    await new Promise(setImmediate)
    time.pass(5000)
    const unresolved = (await open).page(argus, quiet)
    time.pass(5000)
    t.equal(reasonOf(await unresolved), 'unreachable: the server sent no data for 5 s')
    t.equal(time.pending, 0)
  },
)

t.test('abort - ends a held request, and the listener goes with it (KS-8, F21)', async t => {
  const server = await roughServer(t, asked => {
    if (asked.nth > 1) sayJson(asked, empty)
  })
  const source = await testSource(t, server.url)
  const stop = new AbortController()
  let listeners = 0
  const { signal } = stop
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: unknown[]) => {
    listeners++
    Reflect.apply(add, signal, args)
  }
  signal.removeEventListener = (...args: unknown[]) => {
    listeners--
    Reflect.apply(remove, signal, args)
  }
  const held = source.counts({ waitSeconds: 50 }, signal)
  await server.heard(1)
  t.equal(listeners, 1)
  t.equal((await source.page(argus, signal)).ok, true)
  t.equal(listeners, 1)
  const closed = new Promise(resolve => server.asked[0]?.socket.once('close', resolve))
  stop.abort()
  t.equal(tokenOf(await held), 'unreachable')
  t.equal(listeners, 0)
  await closed
  t.equal(tokenOf(await source.page(argus, signal)), 'unreachable', 'nothing is asked after it')
  t.equal(server.asked.length, 2)
})

t.test('source - closed, it ends what is in flight and holds no connection', async t => {
  const server = await roughServer(t, () => undefined)
  const source = await testSource(t, server.url)
  const held = source.counts({ waitSeconds: 50 }, quiet)
  await server.heard(1)
  source.close()
  t.equal(tokenOf(await held), 'unreachable')
})

t.test('requests - one that hangs does not hold another (KS-59)', async t => {
  const server = await roughServer(t, asked => {
    if (asked.query.get('persona') !== 'hangs') sayJson(asked, empty)
  })
  const source = await testSource(t, server.url)
  const stop = new AbortController()
  const hanging = [1, 2, 3, 4].map(() => source.page({ persona: 'hangs' }, stop.signal))
  await server.heard(4)
  t.equal((await source.page(argus, quiet)).ok, true)
  stop.abort()
  t.same((await Promise.all(hanging)).map(tokenOf), Array(4).fill('unreachable'))
})
