import { formatCount, formatDuration, shellWord } from '@kim/cli-kit'
import type { JsonObject, StorePaths } from '@kim/manifest'
import type { Consumer } from '@kim/observer-sdk/consumers'
import type { Backlog } from './backlog.js'
import type { LastSign } from './last-sign.js'
import type { SinkLine } from './sinks.js'

/** What stands besides the producer. */
export interface StatusReport {
  readonly head_seq: number
  readonly project_id: string
  readonly backlog: Backlog
  /** Each inbox as the producer tells it, or told it last, with both counts of its unread mail. */
  readonly personas: readonly JsonObject[]
  readonly sinks: readonly SinkLine[]
  readonly consumers: readonly Consumer[]
}

const STATE_WORDS: Readonly<Record<LastSign['state'], string>> = {
  running: 'running',
  hung: 'hung: it holds the store and does not respond',
  stopped: 'stopped',
  gone: 'ended without a clean stop; no acknowledged record is lost',
  never: 'has not run on this store yet',
  unknown: 'unknown: no producer holds the store, and run/health.json cannot be read',
}

/** Inboxes, lanes and the like that are named one by one. */
const SHOWN_MAX = 20

/** A status as a person reads it. */
export function standingLines(
  sign: LastSign,
  paths: StorePaths,
  { head_seq, backlog, personas, sinks, consumers }: StatusReport,
  nowMs: number,
): string[] {
  const { health } = sign
  const width = Math.max(0, ...personas.map(persona => String(persona['persona']).length))
  return [
    producerLine(sign),
    `store     ${paths.root}, head ${head_seq}${health['disk'] === 'full' ? ', DISK FULL' : ''}`,
    ...(typeof health['source'] === 'string'
      ? [`source    ${health['source']} (${health['dialect']}), counts ${health['counts']}`]
      : []),
    backlogLine(backlog, nowMs),
    ...sinks.map(sink => `sink      ${sinkText(sink)}${forgetText(sink, sign)}`),
    ...consumers.map(consumer => `consumer  ${consumerText(consumer)}`),
    ...personas.map(
      persona => `inbox     ${String(persona['persona']).padEnd(width)}  ${personaText(persona, nowMs)}`,
    ),
  ]
}

function producerLine({ state, pid, started, ageMs, health }: LastSign): string {
  const who = state === 'running' || state === 'hung' ? `, pid ${pid}, since ${started}` : ''
  const reason = state === 'stopped' && typeof health['reason'] === 'string' ? `: ${health['reason']}` : ''
  const isTold = state === 'running' && ageMs === 0
  const seen = ageMs === undefined || isTold ? '' : ` (last heartbeat ${formatDuration(ageMs)} ago)`
  return `producer  ${STATE_WORDS[state]}${reason}${who}${seen}`
}

function backlogLine(backlog: Backlog, nowMs: number): string {
  const { state, as_of, personas, polled_since, hidden } = backlog
  if (state === 'unknown') return 'backlog   unknown: the producer has no counts from the server'
  const age = as_of === null ? Number.NaN : Math.max(0, nowMs - Date.parse(as_of))
  const when = age >= 1000 ? ` (as of ${formatDuration(age)} ago)` : ''
  if (state === 'none') return `backlog   none: the server counts no unread mail${when}`
  if (state === 'even') {
    const but = hidden === 0 ? '' : `, except ${hidden} that the server does not show`
    const polled = polled_since === null ? undefined : Math.max(0, nowMs - Date.parse(polled_since))
    const proof =
      polled === undefined
        ? 'one of the inboxes with unread mail was never polled'
        : `the journal has what these inboxes showed ${formatDuration(polled)} ago`
    return `backlog   even: no inbox has more unread mail at the server than in the journal${but}; ${proof}${when}`
  }
  const shown = personas
    .slice(0, SHOWN_MAX)
    .map(({ persona, there, here }) => `${persona} ${there} unread on the server, ${here} in the journal`)
  return `backlog   ${shown.join('; ')}${more(personas.length)}${when}`
}

function sinkText({ identity, state, why, behind, lanes, held, skipped }: SinkLine): string {
  if (state === 'off' || behind === null) return `${identity}: off: ${why}`
  const lag = behind === 0 ? 'at the head' : `${formatCount(behind, 'record')} behind`
  const words = state === 'idle' ? `${lag}, no producer runs it` : lag
  const stuck = lanes
    .filter(lane => lane.why !== null)
    .slice(0, SHOWN_MAX)
    .map(({ lane, why: reason, for_ms }) => {
      const name = lane === '' ? 'blocked' : `${lane} is blocked`
      return `${name}${for_ms > 0 ? ` for ${formatDuration(for_ms)}` : ''}: ${reason}`
    })
  return (
    [`${identity}: ${words}`, ...skippedWords(skipped), ...(why === null ? [] : [why]), ...stuck].join('; ') +
    (stuck.length > 0 ? more(held) : '')
  )
}

/** What a sink skipped after its tries; the health file of an earlier version does not say it. */
function skippedWords(skipped: SinkLine['skipped'] | undefined): string[] {
  const count = Object.values(skipped ?? {}).reduce((sum, one) => sum + one, 0)
  return count === 0 ? [] : [`skipped: ${formatCount(count, 'event')}`]
}

/** While a producer runs without it, a sink was given up; while none runs, its watermark is what the next one goes on from. */
function forgetText({ state, file }: SinkLine, sign: LastSign): string {
  return state === 'idle' && sign.state === 'running'
    ? `; to delete its watermark: rm ${shellWord(file)}`
    : ''
}

function consumerText({ consumer, behind, in_use: isUsed }: Consumer): string {
  if (behind === null) return `${consumer}: its file is damaged`
  const lag = behind === 0 ? 'at the head' : `${formatCount(behind, 'record')} behind`
  return `${consumer}: ${lag}${isUsed ? ', in use' : ''}`
}

function personaText(persona: JsonObject, nowMs: number): string {
  const polled = typeof persona['last_poll'] === 'string' ? Date.parse(persona['last_poll']) : Number.NaN
  const parts = [
    `${String(persona['state']).padEnd(4)}  ${persona['armed'] === true ? `id ${persona['watermark']}` : 'not armed'}`,
    Number.isNaN(polled) ? 'never polled' : `polled ${formatDuration(Math.max(0, nowMs - polled))} ago`,
  ]
  parts.push(unreadText(persona))
  if (persona['pinned'] === true) parts.push('a gap is being filled')
  if (persona['state'] === 'down' && typeof persona['reason'] === 'string') parts.push(persona['reason'])
  return parts.join(', ')
}

/** Two counts of two things; each says of which. */
function unreadText({ unread_server: there, unread_journal: here }: JsonObject): string {
  const inJournal = `${here ?? 0} in the journal`
  return typeof there === 'number' ? `${there} unread on the server, ${inJournal}` : `unread: ${inJournal}`
}

function more(count: number): string {
  return count > SHOWN_MAX ? `, and ${count - SHOWN_MAX} more` : ''
}
