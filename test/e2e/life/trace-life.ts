/** Which files take part in the life of one message, from the server's answer to the line of `kim-tail -f`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { end, PRODUCER, producerFlags, ready, Server, TAIL } from '../../bench/bench-hive.js'

const ROOT = realpathSync(fileURLToPath(new URL('../../../../', import.meta.url)))
/** Longer than the longest interval at which an idle process looks around. */
const IDLE_MS = 12_000
const MESSAGES = 3
const LINE_MAX_MS = 60_000
/** A tail that starts may miss a message, and gets another one after this time. */
const FIRST_LINE_MAX_MS = 5000
const TRIES = 12
/** What a message sets off goes on for a moment after its line. */
const SETTLE_MS = 2000

/** The functions of our files that ran in one window, as `file function offset`. */
type Window = ReadonlySet<string>

/** The source files that take part, by process. */
export interface Life {
  readonly producer: readonly string[]
  readonly tail: readonly string[]
  /** Files of both that ran for each message, whether or not they also run while nothing happens. */
  readonly ran: readonly string[]
}

/** Counts calls in the process that loads it, and reports and resets the counts when it is asked to. */
const COUNTER = `
  import { Session } from 'node:inspector/promises'
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  process.on('message', async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const ran = result.flatMap(({ url, functions }) =>
      functions.flatMap(({ functionName, ranges: [range] }) =>
        range.count > 0 && url.startsWith('file:') ? [url + ' ' + functionName + ' ' + range.startOffset] : []))
    process.send(ran)
  })
  process.channel.unref()
`

/** A process of ours whose calls are counted. */
class Counted {
  readonly child: ChildProcess

  constructor(args: readonly string[], env: NodeJS.ProcessEnv) {
    const preload = `--import=data:text/javascript,${encodeURIComponent(COUNTER)}`
    this.child = spawn(process.execPath, [preload, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
  }

  /** What ran since the last call. */
  async window(): Promise<Window> {
    this.child.send('take')
    const [ran] = (await once(this.child, 'message')) as [string[]]
    return new Set(ran)
  }
}

/** Traces messages through a producer and a tail, in about 20 s. */
export async function traceLife(): Promise<Life> {
  const home = mkdtempSync(join(tmpdir(), 'kim-life-'))
  const server = new Server()
  const started: ChildProcess[] = []
  try {
    const url = await server.ready()
    await server.tell({ do: 'load', personas: ['river', 'argus'], each: 3 })
    const env = { ...process.env, HOME: home, XDG_STATE_HOME: join(home, 'state'), KIM_TOKEN: 'trace' }
    const store = join(home, 'store')
    const producer = new Counted([PRODUCER, 'run', ...producerFlags(url, store)], env)
    started.push(producer.child)
    await ready(producer.child, store)
    const tail = new Counted([TAIL, '--store', store, '-p', 'river', '-f', '-n', '0', '-o', 'json'], env)
    started.push(tail.child)
    let lines = 0
    ;(tail.child.stdout as Readable).setEncoding('utf8').on('data', (text: string) => {
      lines += text.split('\n').length - 1
    })
    const send = async (maxMs = LINE_MAX_MS): Promise<void> => {
      const before = lines
      await server.tell({ do: 'send', to: ['river'] })
      for (const until = Date.now() + maxMs; lines === before; await sleep(20))
        if (Date.now() > until) throw new Error('a message was not printed')
      await sleep(SETTLE_MS)
    }
    const counted = [producer, tail]
    const take = (): Promise<Window[]> => Promise.all(counted.map(each => each.window()))
    // The first message settles what is made once; a tail that still starts prints nothing of it.
    for (let tries = 1; lines === 0; tries++)
      await send(FIRST_LINE_MAX_MS).catch((error: unknown) => {
        if (tries === TRIES) throw error
      })
    await take()
    await sleep(IDLE_MS)
    const idle = await take()
    const messages: Window[][] = []
    for (let n = 0; n < MESSAGES; n++) {
      await send()
      messages.push(await take())
    }
    const windows = counted.map((_, at) => messages.map(each => each[at] as Window))
    const [ofProducer = [], ofTail = []] = windows.map((each, at) => filesOf(each, idle[at] as Window))
    return { producer: ofProducer, tail: ofTail, ran: windows.flatMap(each => filesOf(each, new Set())) }
  } finally {
    await Promise.all(started.map(end))
    await server.close()
    rmSync(home, { recursive: true, force: true })
  }
}

/** The files of which a function ran in every window of a message, and not while nothing happened. */
export function filesOf(messages: readonly Window[], idle: Window): string[] {
  const [first = new Set<string>(), ...others] = messages
  const files = new Set<string>()
  for (const ran of first) {
    if (idle.has(ran) || others.some(window => !window.has(ran))) continue
    const file = sourceOf(ran.slice(0, ran.indexOf(' ')))
    if (file !== undefined) files.add(file)
  }
  return [...files].sort()
}

/** The source of a compiled file of ours. */
function sourceOf(url: string): string | undefined {
  const path = relative(ROOT, realpathSync(fileURLToPath(url)))
  const found = /^([\w-]+)\/dist\/(.+)\.js$/.exec(path)
  return found === null ? undefined : `${found[1]}/src/${found[2]}.ts`
}
