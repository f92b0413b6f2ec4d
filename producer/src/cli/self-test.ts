import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Input, type Io, safeText, VERSION } from '@kim/cli-kit'
import { limits, storePaths } from '@kim/manifest'
import { heartbeatEvent, readHostClocks } from '@kim/monitor'
import { memoryCursors, openObserver } from '@kim/observer-sdk'
import { unlistedName } from '../core/persona-directory.js'
import type { Draft } from '../journal/draft.js'
import { openJournal } from '../journal/journal.js'
import type { RunLog } from '../run/run-log.js'
import type { SinkPlan } from '../sinks/sinks.js'
import { openSource } from '../source/kijito.js'
import { type Answer, type PersonaDirectory, remedyOf, type Source } from '../source/source.js'
import { runOptions } from './run/check-flags.js'
import { sinkPlans } from './run/open-sinks.js'
import { report } from './store-flags.js'

/** The result of one part of the self-test. */
interface SelfTestResult {
  readonly part: 'inbox' | 'journal' | 'reader' | 'sink'
  /** The inbox, the sink or the step. */
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  /** A problem that is no failure. */
  readonly warning?: string
  /** What to do about it. */
  readonly hint?: string | undefined
  readonly ms: number
}

/** Tests the whole path once and leaves nothing behind: polls each inbox, appends, wakes a reader, sends heartbeats (KS-86). */
export async function run(input: Input, io: Io): Promise<number> {
  const { core, server, sinks, storeDir } = runOptions(input, io)
  const source = await openSource({ ...server, version: VERSION, env: io.env })
  const results: SelfTestResult[] = []
  const add = (result: SelfTestResult): void => {
    results.push(result)
    if (!input.bool('json')) io.stdout.write(line(result))
  }
  try {
    for await (const result of tryInboxes(source, core.personas, io.signal)) add(result)
    for (const result of await tryJournal(source.base)) add(result)
    // Stdout needs no test: the person who reads this sees it.
    const plans = sinkPlans({ storeDir, sinks: { ...sinks, printsEvents: false } }, logTo(io), io)
    for await (const result of trySinks(plans, core.personas?.[0] ?? 'self-test', io.signal)) add(result)
  } finally {
    source.close()
  }
  const isWell = results.every(({ ok }) => ok)
  if (input.bool('json')) report(input, io, { ok: isWell, results }, [])
  return isWell ? 0 : 1
}

function line({ part, name, ok, detail, ms, warning, hint }: SelfTestResult): string {
  const word = !ok ? 'fail' : warning === undefined ? 'ok  ' : 'warn'
  const text = warning === undefined ? detail : `${detail}; ${warning}`
  const next = hint === undefined ? '' : `      ${safeText(hint)}\n`
  return `${word}  ${part.padEnd(7)}  ${safeText(name)}: ${safeText(text)} (${ms.toFixed(1)} ms)\n${next}`
}

function logTo(io: Io): RunLog {
  return ({ message, fields: { output } = {} }) => {
    const text = typeof output === 'string' ? `${message}: ${output.trimEnd()}` : message
    io.stderr.write(`${safeText(text)}\n`)
  }
}

/** Polls the newest page of each selected inbox once. Marks no mail as read. */
async function* tryInboxes(
  source: Source,
  selected: readonly string[] | undefined,
  signal: AbortSignal,
): AsyncGenerator<SelfTestResult> {
  let directory: Promise<Answer<PersonaDirectory>> | undefined
  let personas = selected
  if (personas === undefined) {
    const answer = await source.directory(signal)
    if (!answer.ok) yield inboxFailure('the list of personas', answer, source)
    personas = answer.ok ? answer.value.entries.map(({ persona }) => persona) : []
  }
  for (const name of personas.slice(0, limits.personasMax)) {
    const answer = await source.page({ persona: name }, signal)
    if (!answer.ok) {
      yield inboxFailure(name, answer, source)
      continue
    }
    const { length } = answer.value.rows
    const detail = `${length} ${length === 1 ? 'message' : 'messages'} shown`
    const ms = answer.receivedMs - answer.sentMs
    const found: SelfTestResult = { part: 'inbox', name, ok: true, detail, ms }
    // The server answers for an unknown inbox as for an empty one (KS-92).
    if (length > 0 || selected === undefined) yield found
    else {
      directory ??= source.directory(signal)
      yield { ...found, ...doubts(name, await directory) }
    }
  }
}

function doubts(name: string, directory: Answer<PersonaDirectory>): Pick<SelfTestResult, 'warning' | 'hint'> {
  if (!directory.ok) return {}
  const listed = directory.value.entries.map(({ persona }) => persona)
  if (listed.includes(name)) return {}
  const { message, hint } = unlistedName(name, listed)
  return { warning: message, hint }
}

function inboxFailure(
  name: string,
  answer: Extract<Answer<unknown>, { ok: false }>,
  source: Source,
): SelfTestResult {
  const { reason } = answer.failure
  const ms = answer.receivedMs - answer.sentMs
  return { part: 'inbox', name, ok: false, detail: reason, ms, hint: remedyOf(reason, source) }
}

/** How long a reader may take to see the record. */
const NOTICE_MS_MAX = 5000

/** Activity: it has no state and no event, and nothing takes it for mail. */
const DRAFT: Draft = {
  agent: 'self-test',
  action: 'session_start',
  item_type: 'agent_session',
  item_id: 'self-test',
  summary: 'a self-test',
}

/** Appends a record durably to a journal in the temporary directory, while a reader follows it. */
async function tryJournal(source: string): Promise<SelfTestResult[]> {
  const home = mkdtempSync(join(tmpdir(), 'kim-self-test-'))
  try {
    const storeDir = join(home, 'store')
    const journal = openJournal({ storeDir, source })
    const observer = await openObserver({ eventsDir: storePaths(storeDir).events, cursors: memoryCursors() })
    try {
      const began = performance.now()
      const [seq = 0] = journal.append([DRAFT]).seqs
      const durable = performance.now()
      const late = new AbortController()
      const isSeen = await Promise.race([
        observer.waitFor(seq).then(() => true),
        sleep(NOTICE_MS_MAX, false, { signal: late.signal }),
      ])
      late.abort()
      const seen = performance.now()
      const detail = isSeen
        ? 'a reader saw the record'
        : `no reader saw the record within ${NOTICE_MS_MAX / 1000} s`
      return [
        { part: 'journal', name: 'append', ok: true, detail: 'one record is on disk', ms: durable - began },
        { part: 'reader', name: 'follow', ok: isSeen, detail, ms: seen - durable },
      ]
    } finally {
      await observer.close()
      journal.close()
    }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** Sends each sink a heartbeat, the one event for which no consumer wakes. */
async function* trySinks(
  plans: readonly SinkPlan[],
  persona: string,
  signal: AbortSignal,
): AsyncGenerator<SelfTestResult> {
  for (const plan of plans) {
    const sink = plan.make([], new Set())
    const began = performance.now()
    try {
      const id = `${persona}:heartbeat:${randomBytes(8).toString('hex')}-1`
      const beat = heartbeatEvent(persona, undefined, id, readHostClocks(1), process.platform)
      const { failure: refusal, skipped } = await sink.deliver(sink.laneOf(persona), [beat], signal)
      const failure = refusal ?? skipped?.why
      const ms = performance.now() - began
      const detail = failure ?? 'accepted a heartbeat'
      yield { part: 'sink', name: sink.name, ok: failure === undefined, detail, ms }
    } finally {
      sink.close?.()
    }
  }
}
