import { commandIn, performCommand, type ScriptCommand } from '../model/command.js'
import type { Kijito } from '../model/kijito.js'
import type { Match } from '../model/rule.js'
import { readClocks, type Serving } from './serve.js'

/** What a script can tell a running server besides what it tells the model. */
export type ServerCommand =
  /** Answered once so many requests have come in. */
  | { readonly do: 'await'; readonly on?: Match; readonly count: number; readonly since?: number }
  /** Connections are refused from now on, and taken again. */
  | { readonly do: 'refuse' }
  | { readonly do: 'open' }
  /** Every connection that stands is reset. */
  | { readonly do: 'cut' }

/** What a command came to. */
export type ScriptReply =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: string }

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** Does one command that came as JSON. It never throws: what is wrong stands in the reply. */
export async function obey(kijito: Kijito, serving: Serving, value: unknown): Promise<ScriptReply> {
  if (isObject(value)) {
    switch (value['do']) {
      case 'await':
        return { ok: true, result: await arrived(kijito, serving, value) }
      case 'refuse':
        await serving.refuse()
        return { ok: true, result: null }
      case 'open':
        await serving.open()
        return { ok: true, result: null }
      case 'cut':
        serving.cut()
        return { ok: true, result: null }
    }
  }
  const command: ScriptCommand | string = commandIn(value)
  if (typeof command === 'string') return { ok: false, error: command }
  const result = performCommand(kijito, command, readClocks())
  serving.changed()
  return { ok: true, result }
}

async function arrived(
  kijito: Kijito,
  serving: Serving,
  command: Readonly<Record<string, unknown>>,
): Promise<number> {
  const on = isObject(command['on']) ? (command['on'] as Match) : {}
  const since = typeof command['since'] === 'number' ? command['since'] : 1
  const wanted = typeof command['count'] === 'number' ? command['count'] : 1
  for (;;) {
    const stirred = serving.stirred()
    const count = kijito.log.find(on, since).length
    if (count >= wanted) return count
    await stirred
  }
}
