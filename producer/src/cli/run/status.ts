import { existsSync } from 'node:fs'
import { formatDuration, type Input, type Io } from '@kim/cli-kit'
import { isJsonObject, type JsonObject, KimError, type StorePaths, storePaths } from '@kim/manifest'
import { askIfRunning } from '../ask-producer.js'
import { report } from '../report.js'
import { storeOf } from '../store-flags.js'
import { type LastSign, lastSign } from './last-sign.js'

const STATE_WORDS: Readonly<Record<LastSign['state'], string>> = {
  running: 'running',
  stopped: 'stopped',
  gone: 'gone: it ended without a word; nothing that was acknowledged is lost',
  never: 'never ran here',
}

/** What runs on a store, since when, and how each inbox is: by its own word, else from the files it left. */
export async function run(input: Input, io: Io): Promise<number> {
  const paths = storePaths(storeOf(input, io))
  if (!existsSync(paths.events)) {
    throw new KimError('no_store', `there is no store at ${paths.root}`, {
      hint: 'name one with --store DIR',
    })
  }
  const told = await askIfRunning(paths, 'status', io).catch(() => undefined)
  const found = lastSign(paths, Date.now())
  const sign = told?.ok === true ? { ...found, ageMs: 0, health: told.result } : found
  const { state, pid, started, ageMs, health } = sign
  const facts = {
    ...health,
    state,
    store: paths.root,
    pid: pid ?? null,
    started: started ?? null,
    age_ms: ageMs ?? null,
  }
  report(input, io, facts, lines(sign, paths))
  return 0
}

function lines({ state, pid, started, ageMs, health }: LastSign, paths: StorePaths): string[] {
  const now = Date.now()
  const who = state === 'running' ? `, pid ${pid}, since ${started}` : ''
  const reason = state === 'stopped' && typeof health['reason'] === 'string' ? `: ${health['reason']}` : ''
  const seen =
    ageMs === undefined || (state === 'running' && ageMs === 0)
      ? ''
      : ` (last sign ${formatDuration(ageMs)} ago)`
  const personas = Array.isArray(health['personas']) ? health['personas'].filter(isJsonObject) : []
  const head = typeof health['head_seq'] === 'number' ? `, head ${health['head_seq']}` : ''
  const width = Math.max(0, ...personas.map(persona => String(persona['persona']).length))
  return [
    `producer  ${STATE_WORDS[state]}${reason}${who}${seen}`,
    `store     ${paths.root}${head}${health['disk'] === 'full' ? ', DISK FULL' : ''}`,
    ...(typeof health['source'] === 'string'
      ? [`source    ${health['source']} (${health['dialect']}), counts ${health['counts']}`]
      : []),
    ...personas.map(persona => `${String(persona['persona']).padEnd(width)}  ${personaText(persona, now)}`),
  ]
}

function personaText(persona: JsonObject, now: number): string {
  const polled = typeof persona['last_poll'] === 'string' ? Date.parse(persona['last_poll']) : Number.NaN
  const parts = [
    `${String(persona['state']).padEnd(4)}  ${persona['armed'] === true ? `id ${persona['watermark']}` : 'not armed'}`,
    Number.isNaN(polled) ? 'never polled' : `polled ${formatDuration(Math.max(0, now - polled))} ago`,
  ]
  if (typeof persona['unread'] === 'number') parts.push(`${persona['unread']} unread`)
  if (persona['pinned'] === true) parts.push('a gap is being walked')
  if (persona['state'] === 'down' && typeof persona['reason'] === 'string') parts.push(persona['reason'])
  return parts.join(', ')
}
