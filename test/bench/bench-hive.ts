/** A hive and a producer that follows it, for what is measured of the two. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { JournalFollower } from '../kit/kijito/journal-follower.js'
import type { Said, Told } from './wake-server.js'

const require = createRequire(import.meta.url)
const binOf = (name: string, bin: string): string =>
  join(dirname(require.resolve(`${name}/package.json`)), 'bin', bin)
/** The command of `kim-producer`. */
export const PRODUCER: string = binOf('@kim/producer', 'kim-producer.js')

/** The command of `kim-tail`. */
export const TAIL: string = binOf('@kim/tail', 'kim-tail.js')

/** A compiled script beside this one. */
export const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** The server of one measurement. */
export class Server {
  readonly #child = fork(script('wake-server.js'))

  async ready(): Promise<string> {
    return (await this.#said()).url ?? ''
  }

  async tell(told: Told): Promise<Said> {
    this.#child.send(told)
    return this.#said()
  }

  async close(): Promise<void> {
    const closed = once(this.#child, 'exit')
    this.#child.disconnect()
    await closed
  }

  async #said(): Promise<Said> {
    const [said] = (await once(this.#child, 'message')) as [Said]
    return said
  }
}

/** Ends a child, if it runs. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'exit')
  child.kill()
  await closed
}

/** A producer that has met everybody, so that whatever comes from now on is news. */
export async function produce(
  home: string,
  url: string,
): Promise<{ readonly producer: ChildProcess; readonly store: string; readonly env: NodeJS.ProcessEnv }> {
  const env = { ...process.env, HOME: home, XDG_STATE_HOME: join(home, 'state'), KIM_TOKEN: 'bench' }
  const store = join(home, 'store')
  const producer = spawn(process.execPath, [PRODUCER, 'run', ...producerFlags(url, store)], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await ready(producer, store)
  return { producer, store, env }
}

/** The flags of a producer that follows the server of a measurement. */
export function producerFlags(url: string, store: string): string[] {
  return ['--url', url, '--allow-loopback', '--dialect', 'hosted', '--store', store]
}

/** Waits until a producer knows every persona. */
export async function ready(producer: ChildProcess, store: string): Promise<void> {
  let log = ''
  producer.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    log = (log + chunk).slice(-2000)
  })
  const journal = new JournalFollower(store)
  while (!journal.news().some(({ item_id }) => item_id === 'registry_genesis')) {
    if (producer.exitCode !== null) throw new Error(`the producer ended with ${producer.exitCode}: ${log}`)
    await sleep(50)
  }
}
