import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { formatCount, type Input, type Io, shellWord } from '@kim/cli-kit'
import { type AlertKind, type JsonObject, KimError, limits } from '@kim/manifest'
import type { Draft } from '../../journal/draft.js'
import type { WriterState } from '../../journal/entity-reader.js'
import type { OpenJournal } from '../../journal/journal.js'
import { alertDraft, blankPersonaRecord, personaDraft } from '../../journal/persona.js'
import { canonicalSource } from '../../journal/store.js'
import { caseFolded } from '../../sinks/file-sink.js'
import { withJournal, withRehearsal } from '../open-store.js'
import { eventsFileOf } from '../run/check-flags.js'
import { MAX_REPLAY_DEFAULT } from '../run/flags.js'
import { report, storeOf } from '../store-flags.js'
import { flockHolder, isForAll, type OlderEventFile, olderEventFiles } from './older-monitor.js'
import { type OlderState, readStateFile, statePaths } from './state-file.js'

interface Taken {
  readonly state: OlderState
  readonly outcome: ImportResult
  /** A producer may have announced something of the inbox before this import. */
  readonly begun: boolean
}

/** Imports the state of the older monitor, so that its mail is not announced again and no later mail is lost. */
export function run(input: Input, io: Io): number {
  const states = readAll(statePaths(input.list('state-file')), input.text('url'), input.list('persona'))
  const options = { storeDir: storeOf(input, io), source: states[0]?.source ?? '' }
  const eventsFile = eventsFileOf(input, options.storeDir)
  const work = (journal: OpenJournal): Taken[] => takeOver(journal, states, options.storeDir)
  const taken = input.bool('dry-run') ? withRehearsal(options, work) : withJournal(options, work)
  print(input, io, taken, { ...options, eventsFile })
  return 0
}

/** Reads all files, or fails with every reason before anything is appended. */
function readAll(
  paths: readonly string[],
  url: string | undefined,
  spellings: readonly string[],
): OlderState[] {
  const states: OlderState[] = []
  const refused: string[] = []
  for (const path of paths) {
    refuseRunning(path)
    try {
      const state = readStateFile(path)
      const isOf = (name: string): boolean => caseFolded(name) === caseFolded(state.persona)
      states.push({ ...state, persona: spellings.find(isOf) ?? state.persona })
    } catch (error) {
      if (!(error instanceof KimError)) throw error
      refused.push(error.message)
    }
  }
  const wanted = url === undefined ? states[0]?.source : canonicalSource(url)
  for (const { path, source } of states) {
    if (source !== wanted) refused.push(`cannot import ${path}: it is about ${source}, not ${wanted}`)
  }
  const stranger = spellings.find(name => !states.some(({ persona }) => persona === name))
  if (stranger !== undefined) refused.push(`no state file is about ${stranger}, in any spelling`)
  const seen = new Map<string, string>()
  for (const { path, persona } of states) {
    const other = seen.get(persona)
    if (other !== undefined) refused.push(`cannot import ${path}: ${other} is about ${persona} too`)
    seen.set(persona, path)
  }
  if (refused.length === 0) return states
  throw new KimError('config_invalid', refused.join('; '), {
    hint: 'nothing was appended; correct or leave out the named file, then import again',
  })
}

/** The cursor of a running monitor changes. */
function refuseRunning(path: string): void {
  const holder = flockHolder(`${path}.lock`)
  if (holder === undefined) return
  const message = [`cannot import ${path}: process ${holder.pid} uses it`, holder.command.join(' ')]
  throw new KimError('store_held', message.filter(Boolean).join(': '), {
    hint: 'nothing was appended; stop the older monitor, then import again',
  })
}

function takeOver(journal: OpenJournal, states: readonly OlderState[], storeDir: string): Taken[] {
  const refused: string[] = []
  const taken: Taken[] = []
  for (const state of states) {
    const outcome = importResultOf(state, journal.state)
    const begun = isBegun(state.persona, journal.state)
    if (typeof outcome === 'string') taken.push({ state, outcome, begun })
    else refused.push(`cannot import ${state.path}: ${outcome.why}`)
  }
  if (refused.length > 0) {
    throw new KimError('config_invalid', refused.join('; '), {
      hint: `nothing was appended: import before the first run. ${remedy(taken, storeDir)}`,
    })
  }
  const drafts = taken
    .filter(({ outcome }) => outcome === 'taken_over')
    .flatMap(({ state }) => importedDrafts(state))
  if (drafts.length > limits.txRecordsMax) {
    const message = `cannot import ${states.length} state files: they are too many for one commit`
    throw new KimError('commit_too_large', message, {
      hint: 'nothing was appended; import fewer files at once',
    })
  }
  if (drafts.length > 0) journal.append(drafts, { tx: true })
  return taken
}

/** Records are not removed, so the way out is another store, or only the inboxes that the store does not know. */
function remedy(taken: readonly Taken[], storeDir: string): string {
  const aside = `mv ${shellWord(storeDir)} ${shellWord(`${storeDir}.before-import`)}`
  const isRest = taken.some(({ outcome }) => outcome === 'taken_over')
  const rest = isRest ? '; or import only the files of the other inboxes' : ''
  return `With the producer stopped: ${aside}, import again, then run${rest}`
}

function print(
  input: Input,
  io: Io,
  taken: readonly Taken[],
  about: { readonly source: string; readonly storeDir: string; readonly eventsFile: string | undefined },
): void {
  const { source, storeDir, eventsFile } = about
  const home = io.env['HOME'] ?? homedir()
  const dryRun = input.bool('dry-run')
  const isOneFile = eventsFile !== undefined && isForAll(eventsFile)
  const someBegun = taken.some(({ begun }) => begun)
  const inboxes = taken.map(({ state: { cursor = null, path, persona }, outcome, begun }) => ({
    persona,
    cursor,
    outcome,
    state_file: path,
    files: olderEventFiles(persona, home, eventsFile),
    next: isOneFile ? followCommand(storeDir, undefined, someBegun) : followCommand(storeDir, persona, begun),
  }))
  const count = inboxes.filter(({ outcome }) => outcome === 'taken_over').length
  const facts = {
    dry_run: dryRun,
    store: storeDir,
    source,
    taken_over: count,
    personas: inboxes.map(({ files, next, ...rest }) => ({
      ...rest,
      event_files: files.map(fileFacts),
      next,
    })),
  }
  const filesOf = ({ files, next }: (typeof inboxes)[number]): string[] =>
    files.flatMap(file => fileLines(file, next))
  const missed = inboxes.filter(({ files }) => files.length === 0).map(({ persona }) => persona)
  report(input, io, facts, [
    `${dryRun ? 'would import' : 'imported'} ${formatCount(count, 'inbox', 'inboxes')} of ${source} into ${storeDir}`,
    ...inboxes.flatMap(inbox => [
      `${inbox.persona}: ${WORDS[inbox.outcome]}${inbox.outcome === 'no_cursor' ? '' : ` ${inbox.cursor}`}`,
      ...(isOneFile ? [] : filesOf(inbox)),
    ]),
    ...(isOneFile ? inboxes.slice(0, 1).flatMap(filesOf) : []),
    // A file that was not found may still have a follower, which would get no more events.
    ...(missed.length === 0
      ? []
      : [`no event file of ${missed.join(', ')} at ${eventsFile ?? USUAL_PLACES}`]),
    ...(count > 0 ? [CAP] : []),
  ])
}

const USUAL_PLACES =
  'the usual places; if the monitor wrote elsewhere, name the file with --events-file or --events-file-template'

const CAP = `if more than ${MAX_REPLAY_DEFAULT} messages wait in an inbox at the first poll, none is announced; for more: start the producer with --max-replay N`

const WORDS: Readonly<Record<ImportResult, string>> = {
  taken_over: 'announced up to',
  stands_already: 'was imported before, at',
  no_cursor: 'the older monitor never polled it; it starts as a new inbox',
}

function fileFacts({ path, followers = [], isOpenToOthers }: OlderEventFile): object {
  const processes = followers.map(({ pid, command }) => ({ pid, command: command.join(' ') }))
  return { path, followers: processes, open_to_others: isOpenToOthers }
}

/** What is known about the processes that follow a file, if none of them can be named. */
function noFollower({ path, followers }: OlderEventFile): string {
  if (followers !== undefined)
    return 'no process has it open now (a process of another user, or one that opens it only for each read, cannot be seen)'
  return `this system does not show who has it open; find its readers yourself (lsof ${shellWord(path)}), and make sure that the older monitor is stopped`
}

/** The processes that follow a file, and the command that replaces them. */
function fileLines(file: OlderEventFile, next: string): string[] {
  const { path, flag, followers = [], isOpenToOthers } = file
  return [
    `  ${path}${followers.length === 0 ? `: ${noFollower(file)}` : ''}`,
    ...(isOpenToOthers
      ? ['  warning: other users can read it; the producer sets its mode to 0600, and then they cannot']
      : []),
    ...followers.map(({ pid, command }) => `  followed by process ${pid}: ${command.join(' ')}`),
    `  to replace the reader of this file: ${next}`,
    `  to keep the file: install the service with ${flag}`,
  ]
}

/** A valid name of a consumer (CL-24). */
const CONSUMER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/
const HASH_DIGITS = 8

/**
 * The command that replaces a program that follows an event file; without a persona, of all inboxes. It is a named
 * consumer, so it resumes. It begins at the first record, so no mail before its first start is lost; not so if a
 * producer has begun, which may have announced these records.
 */
function followCommand(storeDir: string, persona: string | undefined, isBegun: boolean): string {
  // In a list of names, a comma in a name is escaped.
  const name = persona?.replaceAll(',', '\\,')
  const whose = name === undefined ? '--all-personas' : `--persona ${shellWord(name)}`
  const start = isBegun ? '' : ' --start earliest'
  return `kim-tail --store ${shellWord(storeDir)} ${whose} -f -o monitor --consumer ${consumerName(persona)}${start}`
}

function consumerName(persona: string | undefined): string {
  if (persona === undefined) return 'all-inboxes'
  if (CONSUMER.test(persona)) return persona
  return `inbox-${createHash('sha256').update(persona).digest('hex').slice(0, HASH_DIGITS)}`
}

/** The result for a state file. */
export type ImportResult = 'taken_over' | 'stands_already' | 'no_cursor'

const DOWN = 'this inbox did not answer; the first good poll ends this'
const HIDDEN = 'the server counted mail that it did not show; this ends when the persona reads it there'

/**
 * The records of a state file. Its cursor does not become the watermark, because the journal has no message below it.
 * Like a seed it silences: messages below it that the server still shows are recorded and not announced. The first poll
 * sets `floor` (KS-35). Open alerts stay open.
 */
export function importedDrafts(older: OlderState): Draft[] {
  const { persona, cursor, isDown, consecutiveFailures, isUnreadHidden } = older
  if (cursor === undefined) return []
  const image = {
    ...blankPersonaRecord,
    silentTo: cursor,
    seeded: cursor,
    state: isDown ? 'down' : 'up',
  } as const
  const summary = `${persona} is imported from the older monitor, which announced mail up to message ${cursor}`
  const alert = (kind: AlertKind, what: string, members: JsonObject): Draft => {
    const reason = `${kind}: the older monitor's state says that ${what}`
    return alertDraft({ name: persona, alerts: new Map() }, kind, { status: 'open', reason, members })
  }
  const outage = { consecutive_failures: consecutiveFailures, seconds: 0 }
  const hidden = { unread_not_shown: 1, window_floor: null, cursor_at: cursor, above_watermark: null }
  return [
    personaDraft(persona, image, { isNew: true, summary }),
    ...(isDown ? [alert('unreachable', DOWN, outage)] : []),
    ...(isUnreadHidden ? [alert('unread-not-shown', HIDDEN, hidden)] : []),
  ]
}

/** Compares a state file with the journal. `why` says why it cannot be imported. */
export function importResultOf(
  { persona, cursor }: OlderState,
  state: WriterState,
): ImportResult | { readonly why: string } {
  const known = state.personas.find(persona)
  const record = known?.record
  if (cursor === undefined) return 'no_cursor'
  if (known === undefined || (record === undefined && known.messages.size === 0)) return 'taken_over'
  if (record?.seeded === cursor && (record.silentTo ?? 0) >= cursor) return 'stands_already'
  return {
    why: `the journal already has ${persona}, with mail up to message ${Math.max(known.watermark, record?.silentTo ?? 0)}`,
  }
}

/** Whether a producer may have announced something of an inbox. An import announces nothing. */
export function isBegun(persona: string, state: WriterState): boolean {
  const known = state.personas.find(persona)
  return known !== undefined && !(known.isOnlyCreated && known.alerts.size === 0)
}
