/** What a command line of `kim-tail` asks for, checked before anything is opened. */
import { resolve } from 'node:path'
import { didYouMean, type Input, parseDuration, shellWord, usageError } from '@kim/cli-kit'
import { type Environment, limits } from '@kim/manifest'
import { FIELD_HINT, FIELD_NAMES, type MODES } from './flags.js'
import { parseTimeFlag, positionOf, type StartFrom } from './position.js'
import { bounded, compilePattern, type Pattern, type Selection } from './selection.js'

/** How records are printed. */
export type Mode = (typeof MODES)[number]

/** At most so many lines in so much time. */
export interface Rate {
  readonly lines: number
  readonly perMs: number
}

/** Everything the command line asked of `kim-tail`, checked before anything is opened. */
export interface Plan {
  readonly mode: Mode
  readonly follow: boolean
  readonly selection: Selection
  readonly position: StartFrom
  readonly commit: 'emit' | 'ack' | 'never'
  readonly start: 'new' | 'earliest' | 'fail'
  readonly onGap: 'report' | 'fail' | 'ignore'
  readonly count: number | undefined
  /** It waits from now on, with no position that remembers what came before. */
  readonly missesEarlier: boolean
  readonly untilMatch: Pattern | undefined
  readonly timeoutMs: number | undefined
  readonly deadlineMs: number | undefined
  readonly rate: Rate | undefined
  readonly heartbeatMs: number | undefined
  readonly exitWithParent: boolean
  readonly sayCaughtUp: boolean
  readonly showCursor: boolean
  readonly quiet: boolean
  readonly fields: readonly string[]
  readonly template: string | undefined
  readonly maxLine: number
  /** The flag that named the journal, for commands in the output; empty if none was given. */
  readonly journalFlag: string
  /** Code points of a body that are shown; undefined for all (in `monitor`: for none). */
  readonly bodyChars: number | undefined
  /** A terminal gets whole texts, wider than it is. */
  readonly full: boolean
  readonly prefix: boolean
  readonly utc: boolean
  readonly color: string | undefined
  /** `maxAttempts`: tries of any event; undefined for those of its class. */
  readonly exec: { readonly command: string; readonly maxAttempts: number | undefined } | undefined
}

/** What the process brings to the decision. */
export interface ProcessContext {
  readonly env: Environment
  readonly isTerminal: boolean
  readonly nowMs: number
}

/** Reads a plan from the flags; a command line that can never work is refused here. */
export function planOf(input: Input, around: ProcessContext): Plan {
  const mode = modeOf(input, around)
  const follow = input.bool('follow') || input.bool('retry') || input.bool('wait')
  const personas = input.bool('all-personas') ? [] : [...new Set(input.list('persona'))]
  if (input.bool('all-personas') && input.given('persona'))
    throw usageError('--persona and --all-personas exclude each other', 'give one of them')
  const position = positionOf(input, personas, around.nowMs)
  const exec = input.text('exec')
  if (exec?.trim() === '')
    throw usageError('--exec names no command', 'give a command, such as --exec "my-consumer --once"')
  if (exec !== undefined && position.kind !== 'consumer')
    throw usageError(
      '--exec needs --consumer NAME',
      'add --consumer NAME; its cursor stores what was acknowledged',
    )
  if (exec === undefined && input.given('max-attempts'))
    throw usageError(
      '--max-attempts needs --exec',
      'add --exec CMD: the flag limits how often CMD is tried for an event',
    )
  for (const flag of ['commit', 'start']) {
    if (input.given(flag) && position.kind !== 'consumer')
      throw usageError(`--${flag} needs --consumer`, 'add --consumer NAME')
  }
  if (exec !== undefined && input.given('commit'))
    throw usageError(
      '--commit and --exec exclude each other',
      'leave out --commit: with --exec, the cursor moves when the command exits 0',
    )
  for (const flag of ['heartbeat', 'timeout'] as const) {
    if (input.given(flag) && !follow)
      throw usageError(`--${flag} needs --follow`, 'add -f; without it, kim-tail does not wait')
  }
  checkOutput(input, mode)
  const news = mode === 'monitor' || input.given('exec') || (mode === 'agent' && follow)
  return {
    mode,
    follow,
    selection: selectionOf(input, { personas, position }, news, around.nowMs),
    position,
    commit: input.text('commit') as Plan['commit'],
    start: input.text('start') as Plan['start'],
    onGap: input.text('on-gap') as Plan['onGap'],
    count: input.number('count') ?? (input.bool('wait') ? 1 : undefined),
    missesEarlier: input.bool('wait') && position.kind === 'last' && position.lines === 0,
    untilMatch: patternOf(input, 'until-match'),
    timeoutMs: input.number('timeout'),
    deadlineMs: input.number('deadline'),
    rate: input.text('max-rate') === undefined ? undefined : parseRate(input.text('max-rate') ?? ''),
    heartbeatMs: input.number('heartbeat'),
    exitWithParent: follow && (mode === 'agent' || input.bool('exit-with-parent')),
    sayCaughtUp: input.bool('caught-up'),
    showCursor: input.bool('show-cursor'),
    quiet: input.bool('quiet'),
    fields: input.list('fields'),
    template: input.text('template'),
    maxLine: input.number('max-line') ?? limits.agentLineCharactersMax,
    journalFlag: journalFlagOf(input),
    bodyChars: bodyChars(input, mode),
    full: input.bool('full'),
    prefix: input.bool('prefix'),
    utc: input.bool('utc'),
    color: input.bool('no-color') ? 'never' : input.text('color'),
    exec: exec === undefined ? undefined : { command: exec, maxAttempts: input.number('max-attempts') },
  }
}

function journalFlagOf(input: Input): string {
  const name = ['store', 'events'].find(flag => input.given(flag))
  return name === undefined ? '' : ` --${name} ${shellWord(resolve(input.text(name) ?? ''))}`
}

/** The mode that was asked for, or the one that goes without saying. */
export function modeOf(input: Input, { env, isTerminal }: ProcessContext): Mode {
  const asked = input.text('output') as Mode | undefined
  if (asked !== undefined) return asked
  if (env['KIM_AGENT'] === '1') return 'agent'
  return isTerminal ? 'short' : 'json'
}

function checkOutput(input: Input, mode: Mode): void {
  if (input.given('fields') && input.given('template'))
    throw usageError('--fields and --template exclude each other', 'give one of them')
  for (const flag of ['fields', 'template'] as const) {
    if (input.given(flag) && mode !== 'short' && mode !== 'json')
      throw usageError(`--${flag} does not go with -o ${mode}`, 'add -o json or -o short')
  }
  const [first, second] = ['full', 'no-body', 'body-chars'].filter(flag => input.given(flag))
  if (second !== undefined)
    throw usageError(`--${first} and --${second} exclude each other`, 'give one of them')
  if (first === 'full' && (mode === 'agent' || mode === 'monitor'))
    throw usageError(`--full does not go with -o ${mode}`, 'add -o short, or give --max-line or --body-chars')
  const uncut = ['fields', 'template'].find(flag => input.given(flag))
  const isWhole = uncut !== undefined || mode === 'json' || mode === 'json-pretty' || mode === 'cloudevents'
  if (isWhole && !input.given('exec') && (input.given('no-body') || input.given('body-chars'))) {
    const what = uncut === undefined ? `-o ${mode}` : `--${uncut}`
    throw usageError(
      `${what} prints values whole and never cuts them`,
      'choose -o short, cat, agent or monitor, without --fields and --template',
    )
  }
  const template = input.text('template') ?? ''
  const named = [...template.matchAll(/\{\{|\{([^{}]+)\}/g)].flatMap(([, path]) => path ?? [])
  for (const path of [...input.list('fields'), ...named]) {
    const name = path.split('.')[0] ?? ''
    if (!FIELD_NAMES.includes(name))
      throw usageError(`a record has no value "${name}"${didYouMean(name, FIELD_NAMES)}`, FIELD_HINT)
  }
}

function bodyChars(input: Input, mode: Mode): number | undefined {
  if (mode === 'monitor' || input.given('exec'))
    return input.bool('no-body')
      ? undefined
      : (input.number('body-chars') ?? limits.monitorContentCodePointsMax)
  return input.bool('no-body') ? 0 : input.number('body-chars')
}

function patternOf(input: Input, flag: 'grep' | 'until-match'): Pattern | undefined {
  const source = input.text(flag)
  if (source === undefined) return undefined
  // Shown where it cannot be told, and not taken for what was waited for.
  return bounded(compilePattern(source, `--${flag}`, input.bool('case-sensitive')), flag === 'grep')
}

function selectionOf(
  input: Input,
  { personas, position }: Pick<Selection, 'personas'> & Pick<Plan, 'position'>,
  news: boolean,
  nowMs: number,
): Selection {
  const grep = patternOf(input, 'grep')
  const untilMs = parseTimeFlag(input, 'until', nowMs)
  const toSeq = input.number('to-seq')
  return {
    personas,
    // Each line wakes an agent that follows, and nothing may wake it for old mail.
    records: input.bool('all-records') ? 'all' : news ? 'news' : 'entries',
    wake: input.bool('wake'),
    urgent: input.bool('urgent'),
    ...(input.given('type') ? { types: input.list('type') } : {}),
    ...(input.given('exclude-type') ? { notTypes: input.list('exclude-type') } : {}),
    ...(input.given('from') ? { senders: input.list('from') } : {}),
    ...(grep === undefined ? {} : { grep }),
    ...(position.kind === 'since' ? { sinceMs: position.ms } : {}),
    ...(untilMs === undefined ? {} : { untilMs }),
    ...(toSeq === undefined ? {} : { toSeq }),
  }
}

/** Reads `10/1m`. */
export function parseRate(text: string): Rate {
  const match = /^(\d{1,6})\/(.+)$/.exec(text)
  const lines = Number(match?.[1])
  const perMs = parseDuration(match?.[2] ?? '')
  if (!(lines >= 1) || perMs === undefined || perMs < 1)
    throw usageError(`--max-rate cannot be "${text}"`, 'give a number of lines and a duration, such as 10/1m')
  return { lines, perMs }
}
