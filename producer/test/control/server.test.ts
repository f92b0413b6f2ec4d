import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { dirname } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type JsonObject, KimError } from '@kim/manifest'
import { askProducer, openControl } from '@kim/producer/internal'
import t from 'tap'
import { socketPathOf } from '../../dist/control/socket-path.js'
import { controlServer, rawClient, runDirectory, scriptedVerbs } from '../kit/control.js'
import { ManualTime } from '../kit/manual-time.js'

const operator = { kind: 'operator', name: 'shell' } as const
const observer = { kind: 'observer', name: 'board' } as const

const turns = async (count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await new Promise(setImmediate)
}

t.test('control - verbs are asked over the socket, and answered with the head (CP-6)', async t => {
  const paths = runDirectory(t)
  const asked: string[] = []
  await controlServer(t, { paths, verbs: scriptedVerbs(asked) })
  const ask = (verb: string, params?: JsonObject): Promise<unknown> =>
    askProducer(paths, { verb, principal: operator, params })
  t.same(await ask('status'), { ok: true, seq: 4711, result: { state: 'running' } })
  t.same(await ask('poke'), { ok: true, seq: 4711, result: { due: 3 } })
  t.same(await ask('poke', { persona: '../../etc/x' }), { ok: true, seq: 4711, result: { due: 1 } })
  t.same(await ask('checkpoint'), { ok: true, seq: 4711, result: { file: 'ckpt', head_seq: 4711 } })
  t.same(await ask('gc', { dry_run: true }), { ok: true, seq: 4711, result: { moved: [] } })
  t.same(await ask('gc'), { ok: true, seq: 4711, result: { moved: [] } })
  t.same(asked, ['status', 'poke all', 'poke ../../etc/x', 'checkpoint', 'gc, dry', 'gc'])
})

t.test('control - the socket is the owner’s alone, and is gone after a clean stop (CP-1, CP-5)', async t => {
  const paths = runDirectory(t)
  const server = await controlServer(t, { paths, verbs: scriptedVerbs([]) })
  t.equal(server.path, paths.controlSocket)
  t.equal(statSync(server.path).mode & 0o777, 0o600)
  t.notOk(existsSync(paths.controlPath))
  server.close()
  t.notOk(existsSync(paths.controlSocket))
  t.equal(await askProducer(paths, { verb: 'status', principal: operator }), undefined)
})

t.test(
  'control - a path too long for a socket is replaced by a short one that is written down (CP-2, CP-4)',
  async t => {
    const runtime = runDirectory(t).root
    const paths = runDirectory(t, 'deep/'.repeat(30))
    const env = { XDG_RUNTIME_DIR: runtime }
    const server = await openControl({ paths, verbs: scriptedVerbs([]), env })
    t.match(server.path, new RegExp(`^${runtime}/kim-[0-9a-f]{16}/control\\.sock$`))
    t.equal(statSync(dirname(server.path)).mode & 0o777, 0o700)
    t.match(
      await askProducer(paths, { verb: 'status', principal: operator }, { env: {} }),
      { ok: true },
      'whatever the client’s environment says',
    )
    server.close()
    t.notOk(existsSync(paths.controlPath))
    t.notOk(existsSync(dirname(server.path)))
    t.equal(await askProducer(paths, { verb: 'status', principal: operator }, { env: {} }), undefined)

    for (const plant of [
      () => mkdirSync(dirname(server.path), { mode: 0o755 }),
      () => symlinkSync(runtime, dirname(server.path)),
      () => writeFileSync(dirname(server.path), '', { mode: 0o600 }),
    ]) {
      plant()
      await t.rejects(openControl({ paths, verbs: scriptedVerbs([]), env }), { code: 'not_permitted' })
      rmSync(dirname(server.path), { recursive: true })
    }
  },
)

t.test(
  'control - a socket that was left behind is replaced, anything else in its place is not touched (CP-5)',
  async t => {
    const paths = runDirectory(t)
    const { spawnSync } = await import('node:child_process')
    const script = `require('net').createServer().listen(${JSON.stringify(paths.controlSocket)}, () => process.kill(process.pid, 'SIGKILL'))`
    spawnSync(process.execPath, ['-e', script])
    t.ok(existsSync(paths.controlSocket))
    t.equal(
      await askProducer(paths, { verb: 'status', principal: operator }),
      undefined,
      'no producer listens',
    )
    const server = await openControl({ paths, verbs: scriptedVerbs([]) })
    t.match(await askProducer(paths, { verb: 'status', principal: operator }), { ok: true })
    server.close()
    writeFileSync(paths.controlSocket, 'precious')
    await t.rejects(openControl({ paths, verbs: scriptedVerbs([]) }), { code: 'not_permitted' })
    await t.rejects(askProducer(paths, { verb: 'status', principal: operator }), { code: 'not_permitted' })
    t.equal(statSync(paths.controlSocket).size, 8)
  },
)

t.test(
  'control - on Windows it is a pipe, named with the hash that a directory elsewhere has (CP-3)',
  async t => {
    const paths = runDirectory(t, 'deep/'.repeat(30))
    const elsewhere = socketPathOf(paths, { platform: 'linux', env: { XDG_RUNTIME_DIR: '/run' } }).path
    const [, hash] = /^\/run\/kim-([0-9a-f]{16})\//.exec(elsewhere) ?? []
    t.type(hash, 'string')
    t.same(socketPathOf(paths, { platform: 'win32' }), { path: `\\\\.\\pipe\\kim-${hash}`, kind: 'pipe' })
  },
)

t.test('control - without a store no producer is asked (CP-4)', async t => {
  const paths = runDirectory(t)
  rmSync(paths.root, { recursive: true })
  t.equal(await askProducer(paths, { verb: 'status', principal: operator }), undefined)
})

const BAD: readonly (readonly [string, unknown, string, string | null])[] = [
  ['text', 'hello', 'bad_request', null],
  ['nothing', '', 'bad_request', null],
  ['an array', [1], 'bad_request', null],
  ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'bad_request', null],
  ['deep JSON', `{"id":"1","verb":"status","params":${'['.repeat(20_000)}`, 'bad_request', null],
  ['no id', { verb: 'status' }, 'bad_request', null],
  ['an empty id', { id: '', verb: 'status' }, 'bad_request', null],
  ['an id of 129 bytes', { id: `${'é'.repeat(64)}x`, verb: 'status' }, 'bad_request', null],
  ['a number for an id', { id: 1, verb: 'status' }, 'bad_request', null],
  ['no verb', { id: '1' }, 'bad_request', '1'],
  [
    'a principal of another kind',
    { id: '1', verb: 'status', principal: { kind: 'root', name: 'x' } },
    'bad_request',
    '1',
  ],
  [
    'a principal without a name',
    { id: '1', verb: 'status', principal: { kind: 'operator' } },
    'bad_request',
    '1',
  ],
  ['a principal null', { id: '1', verb: 'status', principal: null }, 'bad_request', '1'],
  ['an empty key', { id: '1', verb: 'checkpoint', principal: operator, key: '' }, 'bad_request', '1'],
  ['params null', { id: '1', verb: 'status', params: null }, 'bad_request', '1'],
  ['params an array', { id: '1', verb: 'status', params: [] }, 'bad_request', '1'],
  [
    'a persona of another type',
    { id: '1', verb: 'poke', principal: operator, params: { persona: 5 } },
    'bad_request',
    '1',
  ],
  [
    'dry_run of another type',
    { id: '1', verb: 'gc', principal: operator, params: { dry_run: 'yes' } },
    'bad_request',
    '1',
  ],
  ['another verb', { id: '1', verb: 'dance', principal: operator }, 'unknown_verb', '1'],
  ['a verb every object has', { id: '1', verb: 'constructor', principal: operator }, 'unknown_verb', '1'],
  ['an observer that pokes', { id: '1', verb: 'poke', principal: observer }, 'not_permitted', '1'],
  ['an observer that stops it', { id: '1', verb: 'shutdown' }, 'not_permitted', '1'],
]

t.test(
  'control - what is no request of this version is refused by its code, and nothing is done (CP-10, CP-11, CP-14)',
  async t => {
    const paths = runDirectory(t)
    const asked: string[] = []
    await controlServer(t, { paths, verbs: scriptedVerbs(asked) })
    const client = await rawClient(t, paths.controlSocket)
    for (const [what, request, code, id] of BAD) {
      if (Buffer.isBuffer(request)) client.socket.write(Buffer.concat([request, Buffer.from('\n')]))
      else client.send(request)
      t.match(await client.replies(1), [{ id, ok: false, error: { code } }], what)
    }
    t.same(asked, [])
    client.send({ id: 'é'.repeat(64), verb: 'status', more: { members: 1 }, principal: observer })
    t.match(await client.replies(1), [{ ok: true }], 'unknown members are ignored, CP-8')
  },
)

t.test('control - a line over 64 KiB is answered, and the connection closed (CP-14)', async t => {
  const paths = runDirectory(t)
  await controlServer(t, { paths, verbs: scriptedVerbs([]) })
  const client = await rawClient(t, paths.controlSocket)
  const line = JSON.stringify({ id: '1', verb: 'status', pad: '' })
  client.send(line.replace('""', `"${'x'.repeat(65_536 - line.length)}"`))
  t.match(await client.replies(1), [{ ok: true }], 'just fits')
  client.socket.write('x'.repeat(300_000))
  t.match(JSON.parse((await client.closed()).split('\n')[1] ?? ''), {
    id: null,
    ok: false,
    error: { code: 'too_large' },
  })
})

t.test(
  'control - requests come in pieces, several at once, and after an end, and each is answered (CP-7)',
  async t => {
    const paths = runDirectory(t)
    const asked: string[] = []
    await controlServer(t, { paths, verbs: scriptedVerbs(asked) })
    const client = await rawClient(t, paths.controlSocket)
    for (const byte of '{"id":"é","verb":"status"}\n') {
      client.socket.write(byte)
      await turns(1)
    }
    t.match(await client.replies(1), [{ id: 'é', ok: true }])
    const many = Array.from({ length: 20 }, (_, n) => ({ id: String(n), verb: 'status' }))
    client.send(...many)
    client.socket.end()
    t.same((await client.replies(20)).map(({ id }) => id).sort(), many.map(({ id }) => id).sort())
    await client.closed()
  },
)

t.test('control - a closed connection does not undo what was read (CP-7)', async t => {
  const paths = runDirectory(t)
  const asked: string[] = []
  await controlServer(t, { paths, verbs: scriptedVerbs(asked) })
  const client = await rawClient(t, paths.controlSocket)
  client.socket.end('{"id":"1","verb":"poke","principal":{"kind":"operator","name":"x"}}\n', () =>
    client.socket.destroy(),
  )
  while (asked.length === 0) await turns(1)
  t.same(asked, ['poke all'])
})

t.test(
  'control - checkpoints that come while one runs share its outcome, and so do keys (CP-12, CP-13)',
  async t => {
    const paths = runDirectory(t)
    const asked: string[] = []
    const waiting: { done(): void; fail(error: unknown): void }[] = []
    let head = 1
    const checkpoint = (): Promise<JsonObject> => {
      asked.push('checkpoint')
      return new Promise((resolve, reject) => {
        waiting.push({ done: () => resolve({ n: asked.length }), fail: reject })
      })
    }
    await controlServer(t, { paths, verbs: scriptedVerbs(asked, { checkpoint, headSeq: () => head }) })
    const client = await rawClient(t, paths.controlSocket)
    const request = (id: string, key?: string): object => ({
      id,
      verb: 'checkpoint',
      principal: operator,
      key,
    })
    client.send(request('a', 'k'), request('b'), request('c', 'k'))
    while (waiting.length === 0) await turns(1)
    await turns(5)
    waiting[0]?.done()
    for (const reply of await client.replies(3)) t.match(reply, { ok: true, seq: 1, result: { n: 1 } })
    head = 9
    client.send(request('d', 'k'))
    t.match(await client.replies(1), [{ id: 'd', ok: true, seq: 1, result: { n: 1 } }], 'the same answer')
    client.send({ id: 'e', verb: 'shutdown', principal: operator, key: 'k' })
    t.match(await client.replies(1), [{ error: { code: 'bad_request' } }])
    client.send({ id: 'f', verb: 'poke', principal: operator, key: 'k' })
    t.match(await client.replies(1), [{ ok: true }], 'verbs that append nothing ignore it')

    client.send(request('g', 'full'))
    while (waiting.length === 1) await turns(1)
    waiting[1]?.fail(new KimError('store_full', 'no space'))
    t.match(await client.replies(1), [
      { id: 'g', ok: false, error: { code: 'store_full', message: 'no space' } },
    ])
    client.send(request('h', 'full'))
    while (waiting.length === 2) await turns(1)
    waiting[2]?.fail(new KimError('store_failed', 'it broke'))
    t.match(
      await client.replies(1),
      [{ id: 'h', ok: false, error: { code: 'failed', message: 'it broke' } }],
      'a failure is tried again',
    )
  },
)

t.test('control - a verb that throws is a reply (CP-10)', async t => {
  const paths = runDirectory(t)
  const throwing = (): never => {
    throw new KimError('internal', 'our bug')
  }
  await controlServer(t, { paths, verbs: scriptedVerbs([], { status: throwing, gc: throwing }) })
  for (const verb of ['status', 'gc']) {
    t.same(await askProducer(paths, { verb, principal: operator }), {
      ok: false,
      code: 'failed',
      message: 'our bug',
    })
  }
})

t.test('control - a shutdown is answered before it is done, and done once (CP-6)', async t => {
  const paths = runDirectory(t)
  const asked: string[] = []
  await controlServer(t, { paths, verbs: scriptedVerbs(asked) })
  const client = await rawClient(t, paths.controlSocket)
  client.send(
    { id: '1', verb: 'shutdown', principal: operator, key: 'stop' },
    { id: '2', verb: 'status' },
    { id: '3', verb: 'shutdown', principal: operator },
    { id: '4', verb: 'shutdown', principal: operator, key: 'stop' },
  )
  const replies = new Map((await client.replies(4)).map(reply => [reply['id'], reply]))
  t.match(replies.get('1'), { ok: true, result: {} })
  t.match(replies.get('2'), { error: { code: 'stopping' } })
  t.match(replies.get('3'), { error: { code: 'stopping' } })
  t.match(replies.get('4'), { ok: true })
  t.same(asked, ['shutdown'])
})

t.test(
  'control - a gc shares the outcome of one that runs, a trial only that of a trial (CP-13)',
  async t => {
    const paths = runDirectory(t)
    const asked: boolean[] = []
    let release = (): void => undefined
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    const gc = async (dryRun: boolean): Promise<JsonObject> => {
      asked.push(dryRun)
      await held
      return { dryRun }
    }
    await controlServer(t, { paths, verbs: scriptedVerbs([], { gc }) })
    const client = await rawClient(t, paths.controlSocket)
    const trials = [false, false, true, true]
    client.send(
      ...trials.map((dry_run, id) => ({
        id: String(id),
        verb: 'gc',
        principal: operator,
        params: { dry_run },
      })),
    )
    while (asked.length < 2) await turns(1)
    await turns(5)
    release()
    const replies = await client.replies(4)
    t.same(asked, [false, true], 'each is done once')
    t.same(
      trials.map((_, id) => replies.find(reply => reply['id'] === String(id))?.['result']),
      trials.map(dryRun => ({ dryRun })),
    )
  },
)

t.test('control - at most 64 requests wait and 32 connections are open, then it is busy (CP-14)', async t => {
  const paths = runDirectory(t)
  let release = (): void => undefined
  const held = new Promise<JsonObject>(resolve => {
    release = () => resolve({})
  })
  await controlServer(t, { paths, verbs: scriptedVerbs([], { checkpoint: () => held }) })
  const clients = await Promise.all(Array.from({ length: 32 }, () => rawClient(t, paths.controlSocket)))
  const [first] = clients
  first?.send(
    ...Array.from({ length: 70 }, (_, n) => ({ id: String(n), verb: 'checkpoint', principal: operator })),
  )
  const busy = (await first?.replies(6)) ?? []
  t.same(
    busy.map(reply => (reply['error'] as JsonObject)['code']),
    Array(6).fill('busy'),
  )
  t.same(await askProducer(paths, { verb: 'status', principal: operator }), {
    ok: false,
    code: 'busy',
    message: '32 connections are already open',
  })
  release()
  t.equal(
    (await first?.replies(64))?.every(({ ok }) => ok),
    true,
  )
  clients[1]?.socket.end()
  await clients[1]?.closed()
  await turns(3)
  t.match(await askProducer(paths, { verb: 'status', principal: operator }), { ok: true })
})

t.test('control - beside 64 connections a further one is closed without an answer (CP-14)', async t => {
  const paths = runDirectory(t)
  await controlServer(t, { paths, timers: new ManualTime(), verbs: scriptedVerbs([]) })
  for (let n = 0; n < 32; n++) await rawClient(t, paths.controlSocket)
  for (let n = 32; n < 64; n++) {
    // It has its answer, and does not end its own side.
    const refused = connect({ path: paths.controlSocket, allowHalfOpen: true })
    t.teardown(() => refused.destroy())
    const [reply] = await once(refused, 'data')
    t.match(JSON.parse(String(reply)), { id: null, error: { code: 'busy' } })
  }
  const last = await rawClient(t, paths.controlSocket)
  t.equal(await last.closed(), '')
})

t.test(
  'control - a connection that is idle for a minute is closed, one that waits is not (CP-14)',
  async t => {
    const paths = runDirectory(t)
    const time = new ManualTime()
    let release = (): void => undefined
    const held = new Promise<JsonObject>(resolve => {
      release = () => resolve({})
    })
    const asked: string[] = []
    const checkpoint = (): Promise<JsonObject> => {
      asked.push('checkpoint')
      return held
    }
    await controlServer(t, { paths, timers: time, verbs: scriptedVerbs(asked, { checkpoint }) })
    const idle = await rawClient(t, paths.controlSocket)
    const waits = await rawClient(t, paths.controlSocket)
    waits.send({ id: '1', verb: 'checkpoint', principal: operator })
    while (asked.length === 0) await turns(1)
    time.pass(60_000)
    t.equal(await idle.closed(), '')
    release()
    t.match(await waits.replies(1), [{ ok: true }])
    await turns(3)
    time.pass(60_000)
    await waits.closed()
    await turns(3)
    time.pass(5000)
    t.equal(time.pending, 0)
  },
)

t.test(
  'control - a client that does not read is closed, and no other client waits for it (CP-15)',
  async t => {
    const paths = runDirectory(t)
    const time = new ManualTime()
    const asked: string[] = []
    const status = (): JsonObject => {
      asked.push('status')
      return { text: 'x'.repeat(1 << 20) }
    }
    await controlServer(t, { paths, timers: time, verbs: scriptedVerbs(asked, { status }) })
    const slow = await rawClient(t, paths.controlSocket)
    slow.socket.pause()
    slow.send({ id: '1', verb: 'status' })
    while (asked.length === 0) await turns(1)
    await turns(5)
    t.match(await askProducer(paths, { verb: 'status', principal: operator }), { ok: true })
    time.pass(5000)
    slow.socket.resume()
    const told = await slow.closed()
    t.ok(told.length < 1 << 20, 'it was cut off')

    const greedy = await rawClient(t, paths.controlSocket)
    greedy.socket.pause()
    greedy.send(...Array.from({ length: 60 }, (_, n) => ({ id: String(n), verb: 'status' })))
    await turns(200)
    greedy.socket.resume()
    t.ok((await greedy.closed()).length < 4 << 20, 'more than a mebibyte unread ends it')
  },
)

t.test(
  'control - a producer that stands still is given up, whatever the collector of garbage does',
  async t => {
    const paths = runDirectory(t)
    let asked = ''
    const server = createServer(socket => {
      socket.on('error', () => undefined)
      socket.on('data', chunk => {
        asked += chunk.toString()
      })
    }).listen(paths.controlSocket)
    t.teardown(() => server.close())
    await once(server, 'listening')
    setFlagsFromString('--expose-gc')
    const collect = setInterval(runInNewContext('gc') as () => void, 20)
    t.teardown(() => clearInterval(collect))
    const { signal } = new AbortController()
    await t.rejects(askProducer(paths, { verb: 'poke', principal: operator }, { signal, withinMs: 500 }), {
      code: 'producer_failed',
      message: 'the producer did not answer within 0.5 s; it may still do what it was asked',
      hint: /kim-producer status/,
    })
    t.match(asked, '"verb":"poke"')
  },
)

t.test('control - an answer that never comes, or is none, is an error of the client (CP-8)', async t => {
  const paths = runDirectory(t)
  const answers = [
    '',
    'nonsense\n',
    '[]\n',
    '{"id":null}\n',
    '{"id":null,"ok":false,"error":{"code":"odd_new_code","message":"x"}}\n',
  ]
  let n = 0
  const server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.on('data', () => socket.end(answers[n++] ?? ''))
  }).listen(paths.controlSocket)
  t.teardown(() => server.close())
  await once(server, 'listening')
  for (let at = 0; at < 4; at++) {
    await t.rejects(askProducer(paths, { verb: 'status', principal: operator }), {
      code: 'producer_failed',
      exitCode: 1,
    })
  }
  t.match(await askProducer(paths, { verb: 'status', principal: operator }), {
    ok: false,
    code: 'odd_new_code',
  })
  const stop = AbortSignal.abort()
  await t.rejects(askProducer(paths, { verb: 'status', principal: operator }, { signal: stop }), {
    code: 'producer_failed',
  })
})
