import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import type { Input, Io } from '@kim/cli-kit'
import { isCount, isJsonObject, type JsonObject, KimError, type StorePaths, storePaths } from '@kim/manifest'
import { memoryCursors, openObserver } from '@kim/observer-sdk'
import { consumersOf } from '@kim/observer-sdk/consumers'
import { report } from '../report.js'
import { storeOf } from '../store-flags.js'
import { askedSign } from './asked-sign.js'
import { backlogOf, type UnreadHere } from './backlog.js'
import { hiddenUnread } from './hidden-unread.js'
import type { LastSign } from './last-sign.js'
import { type StatusReport, standingLines } from './lines.js'
import { sinksOf } from './sinks.js'

/** Four facts, kept apart: what is still to come, who brings it, who passes it on, and who has read it (CL-54). */
export async function run(input: Input, io: Io): Promise<number> {
  const paths = storePaths(storeOf(input, io))
  if (!existsSync(paths.events)) {
    throw new KimError('no_store', `there is no store at ${paths.root}`, {
      hint: 'create it with: kim-producer run; or name another store with --store DIR',
    })
  }
  const sign = await askedSign(paths, io)
  const statusReport = await statusReportOf(paths, sign, io)
  const { state, pid, started, ageMs, health } = sign
  const facts = {
    ...health,
    state,
    store: paths.root,
    pid: pid ?? null,
    started: started ?? null,
    age_ms: ageMs ?? null,
    ...statusReport,
  }
  report(input, io, facts, standingLines(sign, paths, statusReport, Date.now()))
  return 0
}

/** The server's count is what is commonly meant by `unread`, and the journal's by its readers: here each has a name. */
function inboxes(health: JsonObject, unreadHere: (persona: string) => UnreadHere): JsonObject[] {
  const told = Array.isArray(health['personas']) ? health['personas'].filter(isJsonObject) : []
  return told.map(inbox => ({
    ...inbox,
    ...(isCount(inbox['unread']) ? { unread_server: inbox['unread'] } : {}),
    unread_journal: unreadHere(String(inbox['persona'])).here,
  }))
}

/** What the journal and the files of its readers say. */
async function statusReportOf(paths: StorePaths, { state, health }: LastSign, io: Io): Promise<StatusReport> {
  const observer = await openObserver({
    eventsDir: paths.events,
    cursors: memoryCursors(),
    signal: io.signal,
  })
  try {
    const journal = { projectId: observer.projectId, headSeq: observer.head.seq }
    const running: JsonObject = state === 'running' || state === 'hung' ? health : {}
    const unreadHere = (persona: string): UnreadHere => ({
      here: observer.persona(persona).unread,
      hidden: hiddenUnread(observer, persona),
    })
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
