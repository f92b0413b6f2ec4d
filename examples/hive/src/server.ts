import { fileOf, Part } from './part.js'

/** The Kijito that the producer asks. */
export interface Server {
  readonly url: string
  /** The flags by which a producer takes it. */
  readonly flags: readonly string[]
  /** One of its personas; those of a real one are not known. */
  readonly persona: string | undefined
  /** Its process; a real one is not ours. */
  readonly part: Part | undefined
}

/** A simulated hive on a free port of loopback, whose personas write to each other. */
export async function simulate(personas: readonly string[], everySeconds: number): Promise<Server> {
  const part = new Part('the simulator', fileOf('@kim/example-kijito-sim', 'dist/main.js'), [
    ...['--port', '0', '--long-poll', '--stdin'],
    ...['--persona', personas.join(','), '--chatter', String(everySeconds)],
  ])
  const url = await new Promise<string | undefined>(resolve => {
    part.onLine('stdout', line => resolve(urlIn(line)))
    void part.ended.then(() => resolve(undefined))
  })
  if (url === undefined) throw new Error(`the simulator did not start (${await part.end()})`)
  const flags = ['--url', url, '--dialect', 'local', '--allow-loopback']
  return { url, flags, persona: personas[0], part }
}

function urlIn(line: string): string | undefined {
  try {
    const { url } = JSON.parse(line) as { url?: unknown }
    return typeof url === 'string' ? url : undefined
  } catch {
    return undefined
  }
}
