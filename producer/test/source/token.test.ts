import { spawnSync } from 'node:child_process'
import { chmodSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import type { KimError } from '@kim/manifest'
import {
  type FileSystem,
  nodeFileSystem,
  openSource,
  type Source,
  type SourceOptions,
} from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { homeOf } from '../kit/home.js'
import { type Asked, httpText, roughServer, sayJson } from '../kit/rough-server.js'
import { quiet, testSource } from '../kit/source.js'

const argus = { persona: 'argus' }
const SECRET = 'kjt_s3cret'
const PAGE = '{"result":[],"next_before_id":null}'

function directory(t: Test): string {
  return homeOf(t)
}

function tokenFile(t: Test, text: string | Buffer, mode = 0o600): string {
  const path = join(directory(t), 'token')
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}

function open(options: Partial<SourceOptions>): Promise<Source> {
  return openSource({
    url: 'http://127.0.0.1:9',
    dialect: 'hosted',
    allowLoopback: true,
    version: '0',
    env: {},
    ...options,
  })
}

async function refusal(options: Partial<SourceOptions>): Promise<KimError | undefined> {
  try {
    const source = await open(options)
    source.close()
    return undefined
  } catch (error) {
    return error as KimError
  }
}

/** What a server hears from a source with such options. */
async function heard(t: Test, options: Partial<SourceOptions>): Promise<ReadonlyMap<string, string>> {
  const server = await roughServer(t, asked => sayJson(asked, { result: [] }))
  const source = await testSource(t, server.url, { dialect: 'hosted', ...options })
  await source.directory(quiet)
  return server.asked[0]?.headers ?? new Map()
}

t.test(
  'token - the file comes first, then KIM_TOKEN, then KIJITOMON_TOKEN; white space is dropped (KS-83, A3)',
  async t => {
    const env = { KIM_TOKEN: 'one', KIJITOMON_TOKEN: 'two' }
    const tokenFile_ = tokenFile(t, '\ufeff filetok \r\n')
    t.equal((await heard(t, { env, tokenFile: tokenFile_ })).get('authorization'), 'Bearer filetok')
    t.equal((await heard(t, { env })).get('authorization'), 'Bearer one')
    t.equal((await heard(t, { env: { KIJITOMON_TOKEN: '\ttwo ' } })).get('authorization'), 'Bearer two')
  },
)

t.test('token - goes as it is into a header of another name (KS-4, A5)', async t => {
  const headers = await heard(t, { env: { KIM_TOKEN: 'tok' }, authHeader: 'X-K' })
  t.equal(headers.get('x-k'), 'tok')
  t.notOk(headers.has('authorization'))
})

t.test('token - a local server may go without, and gets one that is configured (KS-1, N1)', async t => {
  t.notOk((await heard(t, { dialect: 'local' })).has('authorization'))
  t.equal(
    (await heard(t, { dialect: 'local', env: { KIM_TOKEN: 'tok' } })).get('authorization'),
    'Bearer tok',
  )
})

t.test('token - missing where it is required, nothing is asked (KS-83, A1)', async t => {
  t.match(await refusal({}), { code: 'token_invalid', exitCode: 2, hint: /KIM_TOKEN/ })
})

t.test(
  'token - malformed it is refused, whatever other place holds a good one (KS-83, A2, A4, A7)',
  async t => {
    const good = { KIM_TOKEN: 'good', KIJITOMON_TOKEN: 'good' }
    const bad = [
      '',
      '\n',
      ' \t',
      `${SECRET}\nX-Evil: 1`,
      `${SECRET} b`,
      `${SECRET}é`,
      `${SECRET}\u0000`,
      SECRET.repeat(2000),
    ]
    for (const text of bad) {
      for (const options of [
        { tokenFile: tokenFile(t, text), env: good },
        { env: { ...good, KIM_TOKEN: text } },
        { env: { KIJITOMON_TOKEN: text } },
      ]) {
        const error = await refusal(options)
        t.match(error, { code: 'token_invalid', exitCode: 2 }, JSON.stringify(text.slice(0, 20)))
        t.notMatch(inspect(error, { depth: 9 }), SECRET)
      }
    }
    t.match(await refusal({ tokenFile: tokenFile(t, Buffer.from([0xff, 0xfe, 0x61])) }), {
      code: 'token_invalid',
    })
    t.match(await refusal({ tokenFile: join(directory(t), 'none'), env: good }), {
      code: 'token_invalid',
      exitCode: 2,
    })
    t.equal(await refusal({ tokenFile: tokenFile(t, `${'x'.repeat(16_383)}\n`) }), undefined, 'just fits')
    t.match(await refusal({ tokenFile: tokenFile(t, `${'x'.repeat(16_384)}\n`) }), { code: 'token_invalid' })
  },
)

t.test('token - a file that others may read, or that is no file, is refused with 77 (KS-83)', async t => {
  for (const mode of [0o604, 0o640, 0o602, 0o620, 0o777]) {
    t.match(await refusal({ tokenFile: tokenFile(t, SECRET, mode) }), {
      code: 'not_permitted',
      exitCode: 77,
      hint: /chmod 600/,
    })
  }
  for (const mode of [0o600, 0o400])
    t.equal(await refusal({ tokenFile: tokenFile(t, SECRET, mode) }), undefined)
  const home = directory(t)
  t.match(await refusal({ tokenFile: home }), { code: 'not_permitted', exitCode: 77 })
  const pipe = join(home, 'pipe')
  spawnSync('mkfifo', ['-m', '600', pipe])
  t.match(
    await refusal({ tokenFile: pipe }),
    { code: 'not_permitted', exitCode: 77 },
    'and does not wait for a writer',
  )
  const link = join(home, 'link')
  symlinkSync(tokenFile(t, SECRET), link)
  t.equal(await refusal({ tokenFile: link }), undefined, 'a link is judged by what it leads to')
})

t.test('token - a file of somebody else is refused with 77 (KS-83)', async t => {
  const fs: FileSystem = {
    ...nodeFileSystem,
    fstatSync: fd => Object.assign(nodeFileSystem.fstatSync(fd), { uid: 4711 }),
  }
  const path = tokenFile(t, SECRET)
  t.match(await refusal({ tokenFile: path, fs, uid: 42 }), {
    code: 'not_permitted',
    exitCode: 77,
    hint: /sudo chown 42 /,
  })
  t.equal(await refusal({ tokenFile: path, fs, uid: 4711 }), undefined)
  t.equal(
    await refusal({ tokenFile: path, fs, uid: undefined }),
    undefined,
    'where there are no user numbers',
  )
  const denied: FileSystem = {
    ...nodeFileSystem,
    openSync: () => {
      throw Object.assign(new Error('no'), { code: 'EACCES' })
    },
  }
  t.match(await refusal({ tokenFile: path, fs: denied }), { code: 'not_permitted', exitCode: 77 })
})

t.test('token - header names that cannot carry it are usage errors (KS-4)', async t => {
  const env = { KIM_TOKEN: SECRET }
  for (const authHeader of [
    '',
    'a b',
    'X:Y',
    'X\r\nY',
    'é',
    'Host',
    'content-length',
    'Transfer-Encoding',
    'User-Agent',
  ]) {
    t.match(await refusal({ env, authHeader }), { code: 'usage', exitCode: 2 }, authHeader)
  }
})

t.test('token - is read again at any 401 and when asked, and a bad one is not taken (KS-84)', async t => {
  const path = tokenFile(t, 'old')
  const server = await roughServer(t, (asked: Asked) => {
    const status = asked.headers.get('authorization') === 'Bearer old' ? 401 : 200
    asked.socket.write(httpText(status, '{"result":[],"next_before_id":null}'))
  })
  const refused: string[] = []
  const source = await testSource(t, server.url, {
    dialect: 'hosted',
    tokenFile: path,
    onTokenRefused: error => refused.push(error.code),
  })
  t.match(await source.page(argus, quiet), { ok: false, failure: { status: 401 } })
  t.equal(source.reloadToken(), false, 'the same')
  writeFileSync(path, 'new')
  t.match(await source.page(argus, quiet), { ok: true }, 'the same request goes out with the new one')
  t.equal(server.asked.length, 3)

  writeFileSync(path, '')
  t.equal(source.reloadToken(), undefined)
  t.match(await source.page(argus, quiet), { ok: true }, 'the old one goes on being used')
  rmSync(path)
  t.equal(source.reloadToken(), undefined)
  t.same(refused, ['token_invalid', 'token_invalid'])
  writeFileSync(path, 'newer', { mode: 0o600 })
  t.equal(source.reloadToken(), true)
})

t.test(
  'token - every request that a token lost is asked once more with the one that came (KS-84)',
  async t => {
    const path = tokenFile(t, 'old')
    const first: Asked[] = []
    const server = await roughServer(t, (asked: Asked) => {
      const bearer = asked.headers.get('authorization')
      if (bearer !== 'Bearer old') {
        asked.socket.write(httpText(bearer === 'Bearer new' ? 200 : 401, PAGE))
      } else if (first.push(asked) === 2) {
        writeFileSync(path, 'new')
        for (const { socket } of first) socket.write(httpText(401, '{}'))
      }
    })
    const source = await testSource(t, server.url, { dialect: 'hosted', tokenFile: path })
    const both = await Promise.all([source.page(argus, quiet), source.page({ persona: 'loom' }, quiet)])
    t.match(both, [{ ok: true }, { ok: true }], 'the request that the file was read for, and the other')

    writeFileSync(path, 'newer')
    source.reloadToken()
    const before = server.asked.length
    t.match(await source.page(argus, quiet), { ok: false, failure: { status: 401 } })
    t.equal(server.asked.length, before + 1, 'a token that was just refused is not shown again')
  },
)

t.test(
  'token - a file that is refused at every 401 is said once, and once when it is not any more (KS-66, KS-84)',
  async t => {
    const path = tokenFile(t, 'old')
    const server = await roughServer(t, (asked: Asked) => {
      const status = asked.headers.get('authorization') === 'Bearer old' ? 401 : 200
      asked.socket.write(httpText(status, '{"result":[],"next_before_id":null}'))
    })
    const said: string[] = []
    const source = await testSource(t, server.url, {
      dialect: 'hosted',
      tokenFile: path,
      onTokenRefused: error => said.push(error.code),
      onTokenReadAgain: from => said.push(from),
    })
    const ask = async (times: number): Promise<void> => {
      for (let n = 0; n < times; n++) await source.page(argus, quiet)
    }
    await ask(2)
    t.same(said, [], 'a token that is the same as before is no news')
    chmodSync(path, 0o644)
    await ask(3)
    t.same(said, ['not_permitted'])
    rmSync(path)
    await ask(3)
    t.same(said.splice(0), ['not_permitted', 'token_invalid'], 'what is wrong with it now is another thing')
    t.equal(source.reloadToken(), undefined)
    t.same(said.splice(0), ['token_invalid'], 'who asks is answered')
    writeFileSync(path, 'new', { mode: 0o600 })
    await ask(3)
    t.same(said.splice(0), [`the file ${path}`])
    writeFileSync(path, '')
    t.equal(source.reloadToken(), undefined)
    writeFileSync(path, 'newer')
    t.equal(source.reloadToken(), true)
    t.same(said, ['token_invalid'], 'who asked says so itself')
  },
)

t.test('token - is shown by nothing that prints a source or an answer (KS-84)', async t => {
  const server = await roughServer(t, asked => {
    if (asked.nth > 1) return asked.socket.end(`${asked.headers.get('authorization')}\r\n`)
    return sayJson(asked, { error: asked.headers.get('authorization') }, 401)
  })
  const source = await testSource(t, server.url, { dialect: 'hosted', tokenFile: tokenFile(t, SECRET) })
  const answers = [
    await source.page(argus, quiet),
    await source.directory(quiet),
    await source.counts({ waitSeconds: 0 }, quiet),
  ]
  t.notMatch(inspect([source, answers], { depth: 20, showHidden: true }), SECRET)
  t.notMatch(JSON.stringify([source, answers]), SECRET)
})
