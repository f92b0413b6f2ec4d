import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))

t.test('kijito-sim - is scripted from stdin and ends with it', async t => {
  const dir = t.testdir({ script: '# mail\n{"do":"send","to":"river","from":"argus","content":"hi"}\n' })
  const args = ['--port', '0', '--stdin', '--persona', 'river,argus', '--script', `${dir}/script`]
  const child = spawn(process.execPath, [main, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise(resolve => child.on('close', resolve))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<Record<string, unknown>> => JSON.parse((await lines.next()).value as string)
  const { url } = await next()
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
  child.stdin.write('{"id":7,"do":"await","on":{"endpoint":"personas"},"count":1}\n')
  t.match(await (await fetch(`${url}/api/personas`)).json(), {
    result: [{ persona: 'river' }, { persona: 'argus' }],
  })
  t.same(await next(), { id: 7, ok: true, result: 1 })
  child.stdin.write('{"id":8,"do":"inbox","persona":"river"}\nnonsense\n')
  t.match(await next(), { id: 8, result: [{ content: 'hi' }] })
  t.match(await next(), { ok: false })
  child.stdin.end()
  t.equal(await ended, 0)
})

t.test('kijito-sim - stays on loopback, and refuses what cannot work', async t => {
  const code = async (...args: string[]): Promise<unknown> => {
    const child = spawn(process.execPath, [main, ...args], { stdio: 'ignore' })
    return new Promise(resolve => child.on('close', resolve))
  }
  t.equal(await code('--host', '0.0.0.0', '--port', '0'), 2)
  t.equal(await code('--dialect', 'neither'), 2)
  t.equal(await code('--help'), 0)
})
