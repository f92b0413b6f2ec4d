import { lstatSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { formatCount, shellWord } from '@kim/cli-kit'
import { alertFacts, isCount, isJsonObject, type JsonObject } from '@kim/manifest'
import type { Observer } from '@kim/observer-sdk'
import { consumersOf } from '@kim/observer-sdk/consumers'
import { ownerRemedy } from '../../journal/disk-errors.js'
import { remedyOf, type Source, serverRemedy } from '../../source/source.js'
import { fixedPart, type SinkOptions } from '../run/check-flags.js'
import { isBehind, unreadMail } from '../status/backlog.js'
import { type SinkLine, sinksOf } from '../status/sinks.js'
import {
  accessError,
  andMore,
  type Check,
  type CheckResult,
  type Context,
  failing,
  fine,
  nearestExisting,
  unseen,
  warning,
} from './check.js'

/** Does no inbox have an open alert in the journal? */
const inboxesCheck: Check = {
  id: 'inboxes',
  look: async context => {
    const observer = await context.observer()
    if (observer === undefined) return unseen('there is no store')
    const open = [...observer.state.values('alert')].flatMap(({ payload }) =>
      payload !== undefined && 'status' in payload && payload['status'] === 'open' ? [payload] : [],
    )
    // An outage comes first: other alerts may be old, and are corrected elsewhere.
    const down = open.find(payload => alertFacts(payload).is_outage)
    const first = down ?? open[0]
    if (first === undefined) return fine('no alert is open')
    const { tokenFile: tokenFrom, url: base } = context.options.server
    const remedy = remedyOf(String(first['reason']), { base, tokenFrom })
    return warning(
      `${String(first['persona'])}: ${String(first['reason'])}${andMore(open.length)}`,
      down !== undefined
        ? `${remedy ?? serverRemedy(base)}; then poll now: ${context.command('kim-producer poke')}; otherwise the producer retries later by itself`
        : (remedy ?? `see the alerts: ${context.command('kim-tail status')}`),
    )
  },
}

/** The most inboxes that are polled to compare their messages. */
const POLLED_MAX = 50

/** Is unread mail on the server in the journal? Equal counts may be of different messages, so messages are compared too. */
const backlogCheck: Check = {
  id: 'backlog',
  look: async context => {
    const observer = await context.observer()
    if (observer === undefined) return unseen('there is no store')
    const source = await context.source()
    const answer = await source.counts({ waitSeconds: 0 }, context.signal)
    if (!answer.ok) return unseen(`the server returned no counts: ${answer.failure.reason}`)
    const known = [...observer.state.values('persona')].map(({ itemId }) => itemId)
    const unreadOf = (name: string): number => answer.value.byPersona.get(name)?.unread ?? 0
    const mail = unreadMail(
      observer,
      known.map(name => [name, unreadOf(name)]),
    )
    const short = mail
      .filter(isBehind)
      .map(({ persona, there, here }) => `${persona}: ${there} unread on the server, ${here} in the journal`)
    if (short[0] !== undefined) return behind(`${short[0]}${andMore(short.length)}`, context)
    const unread = known.filter(name => unreadOf(name) > 0)
    return await compareMessages(unread, observer, source, context)
  },
}

/** Polls the newest page of each inbox and looks for its unread messages in the journal. Changes no read state. */
async function compareMessages(
  names: readonly string[],
  observer: Observer,
  source: Source,
  context: Context,
): Promise<CheckResult> {
  if (names.length === 0) return fine('the server counts no unread mail')
  const polled = names.slice(0, POLLED_MAX)
  for (const name of polled) {
    const page = await source.page({ persona: name }, context.signal)
    if (!page.ok) return unseen(`${name}: the inbox cannot be polled: ${page.failure.reason}`)
    const missing = page.value.rows.filter(({ id, read }) => !read && !hasHad(observer, name, id))
    const [first] = missing
    if (first === undefined) continue
    const what = `${name}: message ${first.id} is unread at the server and not in the journal`
    return behind(`${what}${andMore(missing.length)}`, context)
  }
  const rest = names.length - polled.length
  return fine(
    `the journal has the unread messages that ${formatCount(polled.length, 'inbox', 'inboxes')} showed${rest > 0 ? `; ${rest} more were not polled` : ''}`,
  )
}

/** Whether the journal has the message, had it until retention, or begins after it (KS-28). */
function hasHad({ state }: Observer, persona: string, id: number): boolean {
  if (state.get('message', `${persona}/${id}`) !== undefined) return true
  const payload = state.get('persona', persona)?.payload
  const image: JsonObject = isJsonObject(payload) ? payload : {}
  const { floor, known_from: knownFrom } = image
  return id < Math.max(isCount(floor) ? floor : 0, isCount(knownFrom) ? knownFrom : 0)
}

function behind(evidence: string, context: Context): CheckResult {
  const { state } = context.sign()
  if (state === 'running' || state === 'hung')
    return warning(
      evidence,
      `if this lasts more than a minute: ${context.command('kim-producer poke')}, then ${context.command('kim-producer status')}`,
    )
  const { maxReplay } = context.options.core
  return warning(
    evidence,
    `${context.start}; if more than ${maxReplay} messages wait in an inbox, none is announced: add --max-replay N`,
  )
}

/** Does every sink deliver its events? */
const sinksCheck: Check = {
  id: 'sinks',
  look: async context => {
    const obstacles = obstaclesTo(context.options.sinks)
    const [obstacle] = obstacles
    if (obstacle !== undefined)
      return failing(
        `${obstacle.why}${andMore(obstacles.length)}`,
        obstacle.remedy ??
          'name a regular file that belongs to you, or a new file in a directory that you can write to',
      )
    const observer = await context.observer()
    if (observer === undefined) return unseen('there is no store')
    const { projectId, head } = observer
    const { state, health } = await context.asked()
    const reported = state === 'running' || state === 'hung' ? health : {}
    const all = sinksOf(context.env, context.home, { projectId, headSeq: head.seq }, reported)
    const off = all.filter(sink => sink.state === 'off')
    if (off[0] !== undefined) {
      const { identity, why, file } = off[0]
      return failing(
        `${identity} is off: ${why}${andMore(off.length)}`,
        `${restoreRemedy(file)}; then start the producer again`,
      )
    }
    const troubled = all.flatMap(({ identity, why }) => (why === null ? [] : [`${identity}: ${why}`]))
    if (troubled.length > 0)
      return failing(
        `${troubled[0]}${andMore(troubled.length)}`,
        'correct what it names while the producer runs. If it restarts first, the sink repeats events since its saved watermark. Do not delete the watermark: the sink would skip what it has not delivered',
      )
    const held = all.flatMap(({ identity, lanes }) =>
      lanes.flatMap(({ lane, why }) =>
        why === null ? [] : [`${identity}${lane === '' ? '' : ` of ${lane}`} is held: ${why}`],
      ),
    )
    if (held.length > 0)
      return warning(
        `${held[0]}${andMore(held.length)}`,
        'correct what it names; a running producer then retries within 30 s and delivers the rest in order',
      )
    const left: readonly SinkLine[] = state === 'running' ? all.filter(sink => sink.state === 'idle') : []
    if (left[0] === undefined) return fine(`sinks: ${all.length}`)
    return warning(
      `${left[0].identity}: the producer runs without it${andMore(left.length)}`,
      `start the producer with its flag, or delete its watermark: rm ${shellWord(left[0].file)}`,
    )
  },
}

/** How to restore a watermark. To do without it skips mail, so that is the last resort. */
function restoreRemedy(file: string): string {
  const path = lowestVisible(file)
  const stat = lstatSync(path)
  const uid = process.getuid?.()
  if (uid !== undefined && stat.uid !== uid) return ownerRemedy(path, stat.uid, uid, stat.isDirectory())
  const word = shellWord(path)
  if (accessError(path, 'rw') !== undefined && (stat.isDirectory() || stat.isFile()))
    return `chmod ${stat.isFile() ? 600 : 700} ${word}`
  const away = stat.isFile() && path === file ? `rm ${word}` : `mv ${word} ${shellWord(`${path}.away`)}`
  return `restore the file; or begin at the head: ${away}`
}

/** The path itself, or the directory above it that hides it. */
function lowestVisible(path: string): string {
  try {
    lstatSync(path)
    return path
  } catch {
    return path === dirname(path) ? path : lowestVisible(dirname(path))
  }
}

/** Why a file cannot be written, and the command that corrects it if there is one. */
interface Obstacle {
  readonly why: string
  readonly remedy?: string
}

/** Why the event files that the flags name cannot be written. Neither creates nor opens a file. */
function obstaclesTo({ eventsFile, activityFile }: SinkOptions): Obstacle[] {
  const obstacle = (file: string | undefined, isAppended: boolean): Obstacle[] => {
    if (file === undefined) return []
    const found = obstacleTo(file) ?? (isAppended ? linkAt(file) : undefined)
    return found === undefined ? [] : [{ ...found, why: `${file}: ${found.why}` }]
  }
  return [...obstacle(eventsFile, true), ...obstacle(activityFile, false)]
}

/** A file that is appended to has one name and is no link (KS-87). The activity report is replaced. */
function linkAt(path: string): Obstacle | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isSymbolicLink() === true) return { why: 'it is a symbolic link' }
  return stat?.isFile() === true && stat.nlink > 1
    ? { why: 'it has a second name (hard link): writing to it could change a file elsewhere' }
    : undefined
}

function obstacleTo(path: string): Obstacle | undefined {
  const place = nearestExisting(fixedPart(path))
  const stat = statSync(place)
  if (stat.isDirectory()) {
    if (place === path) return { why: 'it is a directory' }
    const why = accessError(place, 'wx')
    return why === undefined ? undefined : { why: `${place} is not writable: ${why}` }
  }
  if (place !== path) return { why: `${place} is not a directory` }
  if (!stat.isFile()) return { why: 'it is not a regular file' }
  const uid = process.getuid?.()
  const word = shellWord(path)
  if (uid !== undefined && stat.uid !== uid) {
    const why = `it belongs to user ${stat.uid}, not to user ${uid}`
    return { why, remedy: `name another file; or, if it is yours: sudo chown ${uid} ${word}` }
  }
  const why = accessError(path, 'w')
  return why === undefined ? undefined : { why: `it is not writable: ${why}`, remedy: `chmod 600 ${word}` }
}

/** A consumer that is this far behind is probably abandoned. */
const BEHIND_MAX = 10_000

/** Is no named consumer far behind? */
const consumersCheck: Check = {
  id: 'consumers',
  look: async context => {
    const observer = await context.observer()
    if (observer === undefined) return unseen('there is no store')
    const { projectId, head } = observer
    const all = consumersOf({ env: context.env, projectId, headSeq: head.seq })
    const late = all.filter(({ behind: count }) => count === null || count > BEHIND_MAX)
    const [first] = late
    if (first === undefined) return fine(`consumers: ${all.length}`)
    const lines = late.map(({ consumer, behind: n }) =>
      n === null
        ? `${consumer}: its file is damaged`
        : `${consumer}: ${n} records behind the head, those of all personas counted`,
    )
    const name = shellWord(first.consumer)
    const forget = `kim-tail cursors rm ${name}`
    return warning(
      lines.join('; '),
      first.behind === null
        ? `to miss nothing: ${context.command(`kim-tail cursors set ${name} --seq N`)} (the last record that was handled); to begin with new mail: ${forget}`
        : `start it again; or forget it: ${forget} (its next run then begins with new mail)`,
    )
  },
}

/** Checks of the way from the server to the consumers. */
export const deliveryChecks: readonly Check[] = [inboxesCheck, backlogCheck, sinksCheck, consumersCheck]
