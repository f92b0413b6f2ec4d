import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Input, type Io, safeText } from '@kim/cli-kit'
import { fileOf, Part } from './part.js'
import { type Server, simulate } from './server.js'

/** Starts the parts, shows what a reader sees, and ends them in the order in which nothing is missed. */
export async function run(input: Input, io: Io): Promise<number> {
  const say = (text: string): void => void io.stdout.write(`${text}\n`)
  const home = input.given('store') ? undefined : mkdtempSync(join(tmpdir(), 'kim-hive-'))
  const store = home === undefined ? resolve(input.text('store') ?? '') : join(home, 'store')
  const parts: Part[] = []
  let result = 0
  try {
    const server = await serverOf(input)
    if (server.part !== undefined) parts.push(server.part)
    const producer = produce(server, store, say)
    parts.unshift(producer.part)
    // A producer that cannot start has said why.
    if (await producer.started) {
      say(opening(server, store, home !== undefined))
      const reader = new Part(
        'the reader',
        fileOf('@kim/tail', 'bin/kim-tail.js'),
        ['--store', store, '--all-personas', '-f', '-o', 'short', '--exit-with-parent'],
        true,
      )
      reader.onLine('stderr', line => say(`  reader: ${safeText(line)}`))
      parts.splice(1, 0, reader)
    }
    result = await untilTheEnd(parts, input.number('for'), io.signal, say)
  } finally {
    for (const part of parts) await part.end()
    if (home !== undefined) rmSync(home, { recursive: true, force: true })
  }
  say(
    home === undefined
      ? `\nEnded. The journal is kept in ${store}`
      : '\nEnded. The temporary store is deleted.',
  )
  return result
}

async function serverOf(input: Input): Promise<Server> {
  const url = input.text('url')
  if (url === undefined)
    return simulate(
      input.list('persona').flatMap(names => names.split(',')),
      input.number('every') ?? 2,
    )
  const named = (flag: string): string[] => {
    const text = input.text(flag)
    return text === undefined ? [] : [`--${flag}`, text]
  }
  // All that a hint of the producer may say to add.
  const flags = [
    ...['dialect', 'token-file', 'auth-header'].flatMap(named),
    ...['allow-loopback', 'allow-private'].filter(flag => input.bool(flag)).map(flag => `--${flag}`),
  ]
  return { url, flags: ['--url', url, ...flags], persona: undefined, part: undefined }
}

/** The real service; of its log, what a person should know. `started` settles once there is a journal, or no hope. */
function produce(
  server: Server,
  store: string,
  say: (text: string) => void,
): { readonly part: Part; readonly started: Promise<boolean> } {
  const flags = ['run', '--store', store, ...server.flags]
  const part = new Part('the producer', fileOf('@kim/producer', 'bin/kim-producer.js'), flags)
  const started = new Promise<boolean>(resolve => {
    void part.ended.then(() => resolve(false))
    part.onLine('stderr', line => {
      const { level, code, msg } = logLine(line)
      if (code === 'started') resolve(true)
      // The reader shows what becomes of inboxes.
      if (level !== 'info' && code !== 'alert')
        say(`  producer: ${safeText([level, msg].filter(Boolean).join(': '))}`)
    })
  })
  return { part, started }
}

/** A line of the producer's log; what is none is said as it is. */
function logLine(line: string): { readonly level?: string; readonly code?: string; readonly msg: string } {
  try {
    return JSON.parse(line) as { level: string; code: string; msg: string }
  } catch {
    return { msg: line }
  }
}

/** Waits for a signal, the time that was given, or a part that ends without being told to. */
async function untilTheEnd(
  parts: readonly Part[],
  forMs: number | undefined,
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<number> {
  let timer: NodeJS.Timeout | undefined
  const told = new Promise<undefined>(resolve => {
    if (signal.aborted) resolve(undefined)
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
    if (forMs !== undefined) timer = setTimeout(() => resolve(undefined), forMs)
  })
  const ends = parts.map(part => part.ended.then(code => ({ name: part.name, code })))
  const first = await Promise.race([told, ...ends])
  clearTimeout(timer)
  if (first === undefined) return 0
  say(`  ${first.name} ended by itself (${first.code})`)
  // 2: flags that can never work.
  return first.code === 2 ? 2 : 1
}

function opening({ url, part, persona }: Server, store: string, isThrownAway: boolean): string {
  const rows: [string, string][] = [
    ['Kijito', part === undefined ? url : `${url}, a simulator (examples/kijito-sim)`],
    ['journal', isThrownAway ? `${store}, deleted at the end` : store],
    [
      'look at it',
      `npx kim-tail --store ${store}${persona === undefined ? '' : ` -p ${persona}`} -f -o agent`,
    ],
    ['', `npx kim-producer status --store ${store}`],
    ['', `npx kim-producer journal verify --store ${store}`],
  ]
  if (part !== undefined) {
    rows.push([
      'your own',
      'npm start -- --url http://localhost:7474      (the same, with a real Kijito server)',
    ])
    rows.push(['', 'npx kim-producer run                             (the service, with the default store)'])
  }
  const lines = rows.map(([name, text]) => `  ${name.padEnd(12)}${text}`)
  return ['', ...lines, '', '  What a reader sees; Ctrl-C ends it.', ''].join('\n')
}
