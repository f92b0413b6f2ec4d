import { homedir } from 'node:os'
import { formatCount, formatDuration, type Input, type Io, shellWord } from '@kim/cli-kit'
import {
  isAccountAlertKind,
  isCount,
  isJsonObject,
  type JsonObject,
  type StorePaths,
  storePaths,
} from '@kim/manifest'
import { memoryCursors, type Observer, openObserver } from '@kim/observer-sdk'
import { type Consumer, consumersOf } from '@kim/observer-sdk/consumers'
import { remedyOf } from '../../source/source.js'
import { assertStore } from '../open-store.js'
import { askedSign, type LastSign } from '../running-producer.js'
import { report, storeOf } from '../store-flags.js'
import { type Backlog, backlogOf } from './backlog.js'
import { type SinkLine, sinksOf } from './sinks.js'

/** Reports the backlog, the producer, the sinks, the consumers and the alerts, each by itself (CL-54). */
export async function run(input: Input, io: Io): Promise<number> {
  const paths = storePaths(storeOf(input, io))
  const create = `create it with: kim-producer run --store ${shellWord(paths.root)}`
  assertStore(paths.root, `${create}; or name another store with --store DIR`)
  const sign = await askedSign(paths, io)
  const statusReport = await statusReportOf(paths, sign, io)
  const { state, pid, started, ageMs, health } = sign
  const { level, attention } = levelOf(sign, statusReport)
  const facts = {
    ...health,
    state,
    level,
    attention,
    store: paths.root,
    pid: pid ?? null,
    started: started ?? null,
    age_ms: ageMs ?? null,
    ...statusReport,
  }
  const summary = [level, attention.slice(0, SHOWN_MAX).join('; ') + more(attention.length)].filter(Boolean)
  report(input, io, facts, [
    ...standingLines(sign, paths, statusReport, Date.now()),
    `level     ${summary.join(': ')}`,
  ])
  return input.bool('check') ? LEVELS[level] : 0
}

/** What `--check` exits with (CL-73). */
const LEVELS = { ok: 0, down: 7, unknown: 8, degraded: 9 } as const

/** How well the producer works, and what of a running one needs a person. */
function levelOf(
  { state, health }: LastSign,
  { alerts, sinks }: StatusReport,
): { readonly level: keyof typeof LEVELS; readonly attention: readonly string[] } {
  if (state === 'never' || state === 'unknown') return { level: 'unknown', attention: [] }
  if (state !== 'running') return { level: 'down', attention: [] }
  const stuck = sinks.filter(sink => sink.state === 'held' || sink.state === 'off')
  const attention = [
    ...(health['disk'] === 'full' ? ['the disk is full'] : []),
    ...alerts.map(({ persona, kind }) => (persona === null ? kind : `${persona}: ${kind}`)),
    ...stuck.map(sink => `${sink.identity}: ${sink.state}`),
  ]
  return { level: attention.length === 0 ? 'ok' : 'degraded', attention }
}

/** The open alerts of watched inboxes. One about the account has no persona, and is listed once. */
function openAlerts({ state }: Observer) {
  const found = new Map<string, { persona: string | null; kind: string; reason: string }>()
  for (const { itemId, payload } of state.values('alert')) {
    const { status, persona: owner, kind, reason } = (payload ?? {}) as Record<string, unknown>
    const record = state.get('persona', String(owner))?.payload as JsonObject | undefined
    if (status !== 'open' || record?.['watched'] === false) continue
    const isAccount = isAccountAlertKind(kind)
    const persona = isAccount ? null : String(owner)
    found.set(isAccount ? String(reason) : itemId, { persona, kind: String(kind), reason: String(reason) })
  }
  return [...found.values()]
}

/** The inboxes, with both counts of unread mail: the server's and the journal's. */
function inboxes(health: JsonObject, observer: Observer): JsonObject[] {
  const told = Array.isArray(health['personas']) ? health['personas'].filter(isJsonObject) : []
  return told.map(inbox => {
    const name = String(inbox['persona'])
    const alert = observer.state.get('alert', `${name}/id-regressed`)?.payload as JsonObject | undefined
    return {
      ...inbox,
      ...(isCount(inbox['unread']) ? { unread_server: inbox['unread'] } : {}),
      unread_journal: observer.persona(name).unread,
      ...(alert?.['status'] === 'open' ? { alert: alert['reason'] } : {}),
    }
  })
}

/** The status apart from the producer: what the journal and the files of its consumers say. */
async function statusReportOf(paths: StorePaths, { state, health }: LastSign, io: Io) {
  const observer = await openObserver({
    eventsDir: paths.events,
    cursors: memoryCursors(),
    signal: io.signal,
  })
  try {
    const journal = { projectId: observer.projectId, headSeq: observer.head.seq }
    const running: JsonObject = state === 'running' || state === 'hung' ? health : {}
    return {
      head_seq: journal.headSeq,
      project_id: journal.projectId,
      backlog: backlogOf(health, observer),
      personas: inboxes(health, observer),
      alerts: openAlerts(observer),
      sinks: sinksOf(io.env, homedir(), journal, running),
      consumers: consumersOf({ env: io.env, ...journal }),
    }
  } finally {
    await observer.close()
  }
}

type StatusReport = Awaited<ReturnType<typeof statusReportOf>>

const STATE_WORDS: Readonly<Record<LastSign['state'], string>> = {
  running: 'running',
  hung: 'hung: it holds the store and does not respond',
  stopped: 'stopped',
  gone: 'gone: it ended without a clean stop; recorded mail is safe',
  never: 'never: no producer has run on this store yet',
  unknown: 'unknown: no producer holds the store, and run/health.json cannot be read',
}

/** What the producer says about the server's counts of unread mail. */
const COUNTS: Readonly<Record<string, string>> = {
  live: 'unread counts available',
  unavailable: 'unread counts unavailable: polling every inbox',
  off: 'unread counts off (--no-fast-path)',
}

/** The most inboxes or lanes that a line lists. */
const SHOWN_MAX = 20

/** A status as a person reads it. */
function standingLines(
  sign: LastSign,
  paths: StorePaths,
  { alerts, head_seq, backlog, personas, sinks, consumers }: StatusReport,
  nowMs: number,
): string[] {
  const { health } = sign
  const width = Math.max(0, ...personas.map(persona => String(persona['persona']).length))
  return [
    producerLine(sign),
    `store     ${paths.root}, head ${head_seq}${health['disk'] === 'full' ? ', DISK FULL' : ''}`,
    ...(typeof health['source'] === 'string'
      ? [`source    ${health['source']} (${health['dialect']}), ${COUNTS[String(health['counts'])] ?? ''}`]
      : []),
    backlogLine(backlog, nowMs),
    ...sinks.map(sink => `sink      ${sinkText(sink)}${forgetText(sink, sign)}`),
    ...consumers.map(consumer => `consumer  ${consumerText(consumer)}`),
    ...personas.map(
      persona => `inbox     ${String(persona['persona']).padEnd(width)}  ${personaText(persona, nowMs)}`,
    ),
    ...alerts.slice(0, SHOWN_MAX).map(({ persona, reason }) => {
      return `alert     ${persona === null ? '' : `${persona}: `}${reason}`
    }),
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
    const but =
      hidden === 0 ? '' : `, apart from ${formatCount(hidden, 'message')} that the server counts but hides`
    const polled = polled_since === null ? undefined : Math.max(0, nowMs - Date.parse(polled_since))
    const proof =
      polled === undefined
        ? 'an inbox with unread mail was never polled'
        : `each inbox with unread mail was polled in the last ${formatDuration(polled)}, and the journal has what it showed`
    return `backlog   even: no inbox has more unread mail at the server than in the journal${but}; ${proof}${when}`
  }
  const shown = personas
    .slice(0, SHOWN_MAX)
    .map(({ persona, there, here }) => `${persona} has ${there} unread on the server, ${here} in the journal`)
  return `backlog   behind: ${shown.join('; ')}${more(personas.length)}${when}`
}

function sinkText({ identity, state, why, behind, lanes, held, skipped }: SinkLine): string {
  if (state === 'off' || behind === null) return `${identity}: off: ${why}`
  const lag = behind === 0 ? 'at the head' : `${formatCount(behind, 'record')} behind`
  const words = state === 'idle' ? `${lag}, no producer runs it` : lag
  const stuck = lanes
    .filter(lane => lane.why !== null)
    .slice(0, SHOWN_MAX)
    .map(({ lane, why: reason, for_ms }) => {
      const name = lane === '' ? 'held' : `${lane} is held`
      return `${name}${for_ms > 0 ? ` for ${formatDuration(for_ms)}` : ''}: ${reason}`
    })
  return (
    [`${identity}: ${words}`, ...skippedWords(skipped), ...(why === null ? [] : [why]), ...stuck].join('; ') +
    (stuck.length > 0 ? more(held) : '')
  )
}

/** The health file of an earlier version has no `skipped`. */
function skippedWords(skipped: SinkLine['skipped'] | undefined): string[] {
  const count = Object.values(skipped ?? {}).reduce((sum, one) => sum + one, 0)
  return count === 0 ? [] : [`skipped: ${formatCount(count, 'event')}`]
}

/** An idle sink has no flag any more if a producer runs. Otherwise the next producer may still use its watermark. */
function forgetText({ state, file }: SinkLine, sign: LastSign): string {
  return state === 'idle' && sign.state === 'running'
    ? `; to delete its watermark: rm ${shellWord(file)}`
    : ''
}

function consumerText({ consumer, seq, behind, in_use: isUsed }: Consumer): string {
  if (behind === null) return `${consumer}: its file is damaged`
  const ahead = `${formatCount(behind, 'record')} of all personas follow${behind === 1 ? 's' : ''}`
  return `${consumer}: ${behind === 0 ? 'at the head' : `at seq ${seq}; ${ahead}`}${isUsed ? ', in use' : ''}`
}

function personaText(persona: JsonObject, nowMs: number): string {
  const polled = typeof persona['last_poll'] === 'string' ? Date.parse(persona['last_poll']) : Number.NaN
  const parts = [
    `${String(persona['state']).padEnd(4)}  ${persona['armed'] === true ? `recorded up to ${persona['watermark']}` : 'not armed'}`,
    Number.isNaN(polled) ? 'never polled' : `polled ${formatDuration(Math.max(0, nowMs - polled))} ago`,
  ]
  parts.push(unreadText(persona))
  if (persona['pinned'] === true) parts.push('a gap is being filled')
  if (persona['state'] === 'down' && typeof persona['reason'] === 'string') parts.push(persona['reason'])
  const { alert } = persona
  if (typeof alert === 'string')
    parts.push(`${alert}; ${remedyOf(alert, { base: '', tokenFrom: undefined })}`)
  return parts.join(', ')
}

function unreadText({ unread_server: there, unread_journal: here }: JsonObject): string {
  const inJournal = `${here ?? 0} in the journal`
  return typeof there === 'number' ? `${there} unread on the server, ${inJournal}` : `unread: ${inJournal}`
}

function more(count: number): string {
  return count > SHOWN_MAX ? `, and ${count - SHOWN_MAX} more` : ''
}
