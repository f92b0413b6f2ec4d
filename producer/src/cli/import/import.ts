import { homedir } from 'node:os'
import { formatCount, type Input, type Io, shellWord } from '@kim/cli-kit'
import { KimError, limits } from '@kim/manifest'
import type { Journal } from '../../journal/journal.js'
import type { JournalOptions } from '../../journal/store.js'
import { canonicalSource } from '../../journal/store.js'
import { withJournal, withRehearsal } from '../open-store.js'
import { report } from '../report.js'
import { MAX_REPLAY_DEFAULT } from '../run/flags.js'
import { eventsFileOf } from '../run/sink-options.js'
import { storeOf } from '../store-flags.js'
import { type ImportResult, importedDrafts, importResultOf, isBegun } from './facts.js'
import { followCommand } from './follow-command.js'
import { isForAll, type OlderEventFile, olderEventFiles } from './older-files.js'
import { flockHolder } from './processes.js'
import { type OlderState, readStateFile } from './state-file.js'
import { statePaths } from './state-paths.js'

interface Taken {
  readonly state: OlderState
  readonly outcome: ImportResult
  /** A producer may have told something of it before this import. */
  readonly begun: boolean
}

/** Takes over what an older monitor had told, so that nobody is woken for it again and nothing after it is lost. */
export function run(input: Input, io: Io): number {
  const states = readAll(statePaths(input.list('state-file')), input.text('url'))
  const [first] = states
  const source = first?.source ?? ''
  const storeDir = storeOf(input, io)
  const eventsFile = eventsFileOf(input, storeDir)
  const options: JournalOptions = { storeDir, source }
  const dryRun = input.bool('dry-run')
  const taken = dryRun
    ? withRehearsal(options, journal => takeOver(journal, states, storeDir))
    : withJournal(options, journal => takeOver(journal, states, storeDir))
  say(input, io, { taken, source, storeDir, dryRun, eventsFile })
  return 0
}

/** All of them, or none: each is judged before anything is appended, and every refusal is told. */
function readAll(paths: readonly string[], url: string | undefined): OlderState[] {
  const states: OlderState[] = []
  const refused: string[] = []
  for (const path of paths) {
    refuseRunning(path)
    try {
      states.push(readStateFile(path))
    } catch (error) {
      if (!(error instanceof KimError)) throw error
      refused.push(error.message)
    }
  }
  const wanted = url === undefined ? states[0]?.source : canonicalSource(url)
  for (const { path, source } of states) {
    if (source !== wanted) refused.push(`cannot import ${path}: it is about ${source}, not ${wanted}`)
  }
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

/** As long as the older monitor runs, its cursor moves on. */
function refuseRunning(path: string): void {
  const holder = flockHolder(`${path}.lock`)
  if (holder === undefined) return
  throw new KimError(
    'store_held',
    [`cannot import ${path}: process ${holder.pid} uses it`, holder.command.join(' ')]
      .filter(Boolean)
      .join(': '),
    {
      hint: 'nothing was appended; stop the older monitor, then import again',
    },
  )
}

function takeOver(journal: Journal, states: readonly OlderState[], storeDir: string): Taken[] {
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
    throw new KimError(
      'commit_too_large',
      `cannot import ${states.length} state files: they are too many for one commit`,
      {
        hint: 'nothing was appended; import fewer files at once',
      },
    )
  }
  if (drafts.length > 0) journal.append(drafts, { tx: true })
  return taken
}

/** What the journal has of an inbox is not taken back, so the way is another store, or the inboxes that it has not met. */
function remedy(taken: readonly Taken[], storeDir: string): string {
  const aside = `mv ${shellWord(storeDir)} ${shellWord(`${storeDir}.before-import`)}`
  const isRest = taken.some(({ outcome }) => outcome === 'taken_over')
  const rest = isRest ? '; or import only the files of the other inboxes' : ''
  return `With the producer stopped: ${aside}, import again, then run${rest}`
}

interface Done {
  readonly taken: readonly Taken[]
  readonly source: string
  readonly storeDir: string
  readonly dryRun: boolean
  /** Absolute; undefined for the usual places. */
  readonly eventsFile: string | undefined
}

function say(input: Input, io: Io, { taken, source, storeDir, dryRun, eventsFile }: Done): void {
  const home = io.env['HOME'] ?? homedir()
  const isOneFile = eventsFile !== undefined && isForAll(eventsFile)
  const someBegun = taken.some(({ begun }) => begun)
  const told = taken.map(({ state, outcome, begun }) => {
    const events = olderEventFiles(state.persona, home, eventsFile)
    const next = isOneFile
      ? followCommand(storeDir, undefined, someBegun)
      : followCommand(storeDir, state.persona, begun)
    return {
      persona: state.persona,
      cursor: state.cursor ?? null,
      outcome,
      state_file: state.path,
      events,
      next,
    }
  })
  const count = told.filter(({ outcome }) => outcome === 'taken_over').length
  const verb = dryRun ? 'would import' : 'imported'
  const facts = {
    dry_run: dryRun,
    store: storeDir,
    source,
    taken_over: count,
    personas: told.map(({ events, next, ...rest }) => ({
      ...rest,
      event_files: events.map(file => fileFacts(file)),
      next,
    })),
  }
  report(input, io, facts, [
    `${verb} ${formatCount(count, 'inbox', 'inboxes')} of ${source} into ${storeDir}`,
    ...told.flatMap(({ persona, cursor, outcome, events, next }) => [
      `${persona}: ${WORDS[outcome]}${outcome === 'no_cursor' ? '' : ` ${cursor}`}`,
      ...(isOneFile ? [] : events.flatMap(file => eventLines(file, next))),
    ]),
    ...(isOneFile ? told.slice(0, 1) : []).flatMap(({ events, next }) =>
      events.flatMap(file => eventLines(file, next)),
    ),
    ...missedLines(
      told.filter(({ events }) => events.length === 0).map(({ persona }) => persona),
      eventsFile,
    ),
    ...(count > 0 ? [CAP] : []),
  ])
}

/** Afterwards it is too late to ask for another one. */
const CAP = `if more than ${MAX_REPLAY_DEFAULT} messages wait in an inbox at the first poll, none is announced; for more: kim-producer run --max-replay N`

const WORDS: Readonly<Record<ImportResult, string>> = {
  taken_over: 'announced up to',
  stands_already: 'was imported before, at',
  no_cursor: 'the older monitor never polled it; it starts as a new inbox',
}

function fileFacts({ path, followers, isOpenToOthers }: OlderEventFile): object {
  const told = followers.map(({ pid, command }) => ({ pid, command: command.join(' ') }))
  return { path, followers: told, open_to_others: isOpenToOthers }
}

/** Which file a process holds open, and what to put in place of that line. */
function eventLines({ path, flag, followers, isOpenToOthers }: OlderEventFile, next: string): string[] {
  return [
    `  ${path}${followers.length === 0 ? ': no process holds it open now; a process that opens it only from time to time is not visible' : ''}`,
    ...(isOpenToOthers
      ? ['  warning: other users can read it; the producer sets its mode to 0600, and then they cannot']
      : []),
    ...followers.map(({ pid, command }) => `  followed by process ${pid}: ${command.join(' ')}`),
    `  replace that process by: ${next}`,
    `  or keep it, and install the service with ${flag}`,
  ]
}

/** A file that was not found may still have a reader, who would hear nothing any more. */
function missedLines(personas: readonly string[], eventsFile: string | undefined): string[] {
  if (personas.length === 0) return []
  const where =
    eventsFile ??
    'the usual places; if the monitor wrote elsewhere, name the file with --events-file or --events-file-template'
  return [`no event file of ${personas.join(', ')} at ${where}`]
}
