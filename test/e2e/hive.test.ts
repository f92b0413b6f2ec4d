import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { newStore, notesOf } from './producer-process.js'

const hive = join(
  dirname(fileURLToPath(import.meta.url)),
  '..',
  '..',
  '..',
  'examples',
  'hive',
  'dist',
  'main.js',
)

interface Shown {
  readonly child: ChildProcess
  readonly ended: Promise<unknown>
  /** Waits until the text was shown. */
  saw(pattern: RegExp): Promise<string>
}

function show(t: Test, ...args: string[]): Shown {
  const child = spawn(process.execPath, [hive, '--every', '1', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGTERM'))
  let text = ''
  let look = (): void => undefined
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      look()
    })
  }
  const ended = new Promise(resolve => child.on('close', (code, signal) => resolve(signal ?? code)))
  const saw = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      look = () => {
        if (pattern.test(text)) resolve(text)
      }
      look()
      void ended.then(end => reject(new Error(`it ended with ${end} without ${pattern}: ${text}`)))
    })
  return { child, ended, saw }
}

t.test('npm start - shows live mail, says where it is kept, and Ctrl-C leaves nothing behind', async t => {
  const { child, ended, saw } = show(t)
  const text = await saw(/message\.new \w+: /)
  const store = /journal +(\S+), deleted at the end/.exec(text)?.[1] ?? ''
  t.ok(existsSync(store))
  t.match(text, /your own +npm start -- --url/)
  child.kill('SIGINT')
  child.kill('SIGINT')
  t.equal(await ended, 0)
  t.notOk(existsSync(store), 'the store is gone')
})

t.test(
  'npm start - ends by itself after the time it was given, and keeps a store that was named',
  async t => {
    const store = newStore(t)
    const { ended } = show(t, '--for', '2', '--store', store)
    t.equal(await ended, 0)
    t.same(notesOf(store).at(-1), 'producer_stopped')
  },
)

t.test('npm start - D11: flags that cannot work are an end with 2, before anything is promised', async t => {
  const { ended, saw } = show(t, '--url', 'http://127.0.0.1:1')
  t.notMatch(await saw(/the producer ended by itself/), /look at it|Ctrl-C/)
  t.match(await saw(/producer: .*dialect/), /dialect/)
  t.equal(await ended, 2)
})

t.test('npm start - D11: names a persona that the hive has, and none of a real server', async t => {
  const own = show(t, '--persona', 'ann,bob')
  t.match(await own.saw(/look at it.*\n/), /kim-tail --store \S+ -p ann -f -o agent/)
  const real = show(t, '--url', 'http://127.0.0.1:1', '--dialect', 'local', '--allow-loopback')
  t.match(await real.saw(/look at it.*\n/), /kim-tail --store \S+ -f -o agent/)
  for (const { child, ended } of [own, real]) {
    child.kill('SIGINT')
    t.equal(await ended, 0)
  }
})

t.test('kijito-sim - D11: a used port is named, and not the disk', async t => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  const sim = join(dirname(hive), '..', '..', 'kijito-sim', 'dist', 'main.js')
  const { status, stderr } = spawnSync(process.execPath, [sim, '--port', String(port)], { encoding: 'utf8' })
  t.equal(status, 1)
  t.match(stderr, /EADDRINUSE.*\n {2}another program uses this port/)
})

t.test('npm start - takes the flag that its error suggests for a server on this machine', async t => {
  const url = ['--url', 'http://127.0.0.1:1', '--dialect', 'local']
  const refused = show(t, ...url)
  const told = /add (--allow-\w+)/.exec(await refused.saw(/add --allow-/))?.[1] ?? ''
  t.equal(await refused.ended, 2)
  const { child, ended, saw } = show(t, ...url, told)
  await saw(/producer: warn: .*ECONNREFUSED/)
  child.kill('SIGINT')
  t.equal(await ended, 0)
})
