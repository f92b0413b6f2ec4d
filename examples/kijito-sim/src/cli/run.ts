import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Input, type Io, usageError } from '@kim/cli-kit'
import { openScriptServer } from '../http/control.js'
import { obey } from '../http/script.js'
import { readClocks, type Serving, serve } from '../http/serve.js'
import { performCommand } from '../model/command.js'
import { Kijito } from '../model/kijito.js'
import { type Settings, settingsOf } from '../model/settings.js'
import { chatter } from './chatter.js'

/** Serves until it is stopped: by a signal, or, where it reads commands there, by the end of stdin. */
export async function run(input: Input, io: Io): Promise<number> {
  const kijito = new Kijito(settingsFrom(input))
  for (const persona of input.list('persona'))
    performCommand(kijito, { do: 'persona', persona }, readClocks())
  const host = input.text('host')
  if (host !== '127.0.0.1' && host !== '::1' && !input.bool('expose')) {
    throw usageError(
      `${host} is not loopback`,
      'every program that can reach this address can read what is sent to it; to allow that, add --expose',
    )
  }
  const script = commandsIn(input.text('script'))
  const serving = await serve(kijito, { host, port: input.number('port') })
  const control = input.given('control')
    ? await openScriptServer(kijito, serving, input.number('control'))
    : undefined
  const say = (value: unknown): void => void io.stdout.write(`${JSON.stringify(value)}\n`)
  say({ ready: true, url: serving.url, ...(control === undefined ? {} : { control: control.url }) })

  const ends = new AbortController()
  const end = (): void => ends.abort()
  if (io.signal.aborted) end()
  io.signal.addEventListener('abort', end, { once: true })
  if (input.bool('stdin')) readCommands(kijito, serving, say, end)
  play(kijito, serving, script, ends.signal).catch(error => say({ ok: false, error: String(error) }))
  const seconds = input.number('chatter')
  if (seconds !== undefined) chatter(kijito, serving, seconds * 1000, ends.signal)
  if (!ends.signal.aborted) {
    await new Promise<void>(resolve => ends.signal.addEventListener('abort', () => resolve(), { once: true }))
  }
  await Promise.all([serving.close(), control?.close()])
  process.stdin.destroy()
  return 0
}

function settingsFrom(input: Input): Settings {
  const dialect = input.text('dialect') === 'hosted' ? 'hosted' : 'local'
  const token = input.text('token')
  const wait = input.number('max-wait')
  return settingsOf(dialect, {
    ...(token === undefined ? {} : { token }),
    ...(wait === undefined ? {} : { maxWaitSeconds: wait }),
    ...(input.bool('long-poll') ? { pending: 'long-poll' } : {}),
  })
}

/** A command a line of stdin, a reply a line of stdout; `id` goes from one to the other. */
function readCommands(
  kijito: Kijito,
  serving: Serving,
  say: (value: unknown) => void,
  end: () => void,
): void {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', line => {
    const { id, command } = commandOf(line)
    obey(kijito, serving, command).then(
      reply => say({ id, ...reply }),
      error => say({ id, ok: false, error: String(error) }),
    )
  })
  lines.on('close', end)
}

function commandOf(line: string): { id: unknown; command: unknown } {
  try {
    const command = JSON.parse(line) as unknown
    const id = typeof command === 'object' && command !== null && 'id' in command ? command.id : undefined
    return { id, command: withoutId(command) }
  } catch {
    return { id: undefined, command: undefined }
  }
}

/** A message's own `id` is called `message_id` where commands carry ids, or the two could not be told apart. */
function withoutId(command: unknown): unknown {
  if (typeof command !== 'object' || command === null) return command
  const { id: _, message_id, ...rest } = command as Readonly<Record<string, unknown>>
  return message_id === undefined ? rest : { ...rest, id: message_id }
}

/** The commands of a script file, one JSON object a line; blank lines and lines that begin with # are nothing. */
function commandsIn(path: string | undefined): readonly unknown[] {
  if (path === undefined) return []
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return []
    try {
      return [JSON.parse(line) as unknown]
    } catch {
      throw usageError(`${path}, line ${index + 1}: not JSON`, 'write one JSON object per line')
    }
  })
}

async function play(
  kijito: Kijito,
  serving: Serving,
  commands: readonly unknown[],
  signal: AbortSignal,
): Promise<void> {
  for (const command of commands) {
    if (signal.aborted) return
    const pause = pauseOf(command)
    if (pause !== undefined) await sleep(pause, undefined, { signal }).catch(() => undefined)
    else {
      const reply = await obey(kijito, serving, command)
      if (!reply.ok) throw usageError(reply.error, 'see the commands in examples/kijito-sim/README.md')
    }
  }
}

/** `{"pause": 500}` waits so many milliseconds. */
function pauseOf(command: unknown): number | undefined {
  const isPause = typeof command === 'object' && command !== null && 'pause' in command
  return isPause && typeof command.pause === 'number' ? command.pause : undefined
}
