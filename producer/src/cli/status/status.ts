import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import type { Input, Io } from '@kim/cli-kit'
import { isCount, isJsonObject, type JsonObject, KimError, type StorePaths, storePaths } from '@kim/manifest'
import { consumersOf, memoryCursors, openObserver } from '@kim/observer-sdk'
import { askIfRunning } from '../ask-producer.js'
import { report } from '../report.js'
import { storeOf } from '../store-flags.js'
import { backlogOf } from './backlog.js'
import { type LastSign, lastSign } from './last-sign.js'
import { type Standing, standingLines } from './lines.js'
import { sinksOf } from './sinks.js'

/** How long a producer is waited for; one that does not answer by then is not the one to ask. */
const ANSWER_MS_MAX = 2000

/** Four facts, kept apart: what is still to come, who brings it, who passes it on, and who has read it (CL-54). */
export async function run(input: Input, io: Io): Promise<number> {
  const paths = storePaths(storeOf(input, io))
  if (!existsSync(paths.events)) {
    throw new KimError('no_store', `there is no store at ${paths.root}`, {
      hint: 'kim-producer run makes it; name another one with --store DIR',
    })
  }
  const sign = await signOf(paths, io)
  const standing = await standingOf(paths, sign, io)
  const { state, pid, started, ageMs, health } = sign
  const facts = {
    ...health,
    state,
    store: paths.root,
    pid: pid ?? null,
    started: started ?? null,
    age_ms: ageMs ?? null,
    ...standing,
  }
  report(input, io, facts, standingLines(sign, paths, standing, Date.now()))
  return 0
}

/** What the producer says of itself, or what it left. */
async function signOf(paths: StorePaths, io: Io): Promise<LastSign> {
  const told = await askIfRunning(paths, 'status', io, undefined, ANSWER_MS_MAX).catch(() => undefined)
  const found = lastSign(paths, Date.now())
  return told?.ok === true ? { ...found, state: 'running', ageMs: 0, health: told.result } : found
}

/** The server's count is what is commonly meant by `unread`, and the journal's by its readers: here each has a name. */
function inboxes(health: JsonObject, unreadHere: (persona: string) => number): JsonObject[] {
  const told = Array.isArray(health['personas']) ? health['personas'].filter(isJsonObject) : []
  return told.map(inbox => ({
    ...inbox,
    ...(isCount(inbox['unread']) ? { unread_server: inbox['unread'] } : {}),
    unread_journal: unreadHere(String(inbox['persona'])),
  }))
}

/** What the journal and the files of its readers say. */
async function standingOf(paths: StorePaths, { state, health }: LastSign, io: Io): Promise<Standing> {
  const observer = await openObserver({
    eventsDir: paths.events,
    cursors: memoryCursors(),
    signal: io.signal,
  })
  try {
    const journal = { projectId: observer.projectId, headSeq: observer.head.seq }
    const running: JsonObject = state === 'running' || state === 'hung' ? health : {}
    const unreadHere = (persona: string): number => observer.persona(persona).unread
    return {
      head_seq: journal.headSeq,
      project_id: journal.projectId,
      backlog: backlogOf(health, unreadHere),
      personas: inboxes(health, unreadHere),
      sinks: sinksOf(io.env, homedir(), journal, running),
      consumers: consumersOf({ env: io.env, ...journal }),
    }
  } finally {
    await observer.close()
  }
}
