import { getEventListeners } from 'node:events'
import { loopTimers } from '@kim/producer/internal'
import t from 'tap'
import { type Asked, httpText, roughServer, sayJson } from '../kit/rough-server.js'
import { testSource } from '../kit/source.js'

/** What a server can do to a request, by the persona asked for. */
const ENDS: readonly ((asked: Asked) => void)[] = [
  asked => sayJson(asked, { result: [] }),
  asked => asked.socket.resetAndDestroy(),
  asked => asked.socket.end('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"result":[]}'),
  asked => void asked.socket.write(httpText(500, 'no')),
  asked => void asked.socket.write('no HTTP at all\r\n\r\n'),
  asked => void asked.socket.write(httpText(302, '', ['Location: /'])),
  asked => void asked.socket.end(httpText(200, '[')),
  // Never answered: the test gives these up.
  () => undefined,
]

t.test('source - whatever becomes of requests, nothing of them is left behind', async t => {
  const warnings: string[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning.message)
  process.on('warning', onWarning)
  t.teardown(() => void process.off('warning', onWarning))

  const server = await roughServer(t, asked =>
    ENDS[Number(asked.query.get('persona')) % ENDS.length]?.(asked),
  )
  let timers = 0
  const source = await testSource(t, server.url, {
    timers: {
      after: (ms, run) => {
        timers++
        const stop = loopTimers.after(ms, () => {
          timers--
          run()
        })
        return () => {
          timers--
          stop()
        }
      },
    },
  })
  const stop = new AbortController()
  const asks = Array.from({ length: 160 }, (_, n) => source.page({ persona: String(n) }, stop.signal))
  const held = asks.filter((_, n) => n % ENDS.length === ENDS.length - 1)
  await Promise.all(asks.filter((_, n) => n % ENDS.length !== ENDS.length - 1))
  t.equal(getEventListeners(stop.signal, 'abort').length, held.length, 'only what is held listens')
  t.equal(timers, held.length, 'and waits')
  stop.abort()
  await Promise.all(held)
  t.equal(getEventListeners(stop.signal, 'abort').length, 0)
  t.equal(timers, 0)

  source.close()
  await server.close()
  while (process.getActiveResourcesInfo().some(kind => kind.startsWith('TCP'))) {
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  t.same(warnings, [])
})
