import { parseArgs } from 'node:util'
import { type Environment, invariant, KimError } from '@kim/manifest'
import type { Command, Flag, Input, Program } from './flag-table.js'
import { parseBytes, parseDuration } from './quantity.js'

type Value = string | number | boolean | readonly string[]

/** Flags of every command, answered before its code is loaded. */
export const COMMON_FLAGS: readonly Flag[] = [
  { name: 'help', short: 'h', kind: 'boolean', about: 'show this help' },
  { name: 'version', kind: 'boolean', about: 'print the version' },
]

/** Chooses the command whose words begin the arguments, the longest match first. */
export function chooseCommand(
  program: Program,
  argv: readonly string[],
): { command: Command; rest: string[] } {
  const byLength = [...program.commands].sort((a, b) => words(b).length - words(a).length)
  for (const command of byLength) {
    const own = words(command)
    if (own.every((word, i) => argv[i] === word)) return { command, rest: argv.slice(own.length) }
  }
  if (argv[0]?.startsWith('-') === true) refuseLate(program, argv)
  const first = argv.find(arg => !arg.startsWith('-'))
  if (first !== undefined) refuseGroup(program, argv.slice(argv.indexOf(first)))
  throw noCommand(program, first)
}

function noCommand(program: Program, word: string | undefined): KimError {
  const names = program.commands.flatMap(({ name }) => (name === '' ? [] : name))
  const known = `the commands are: ${names.join(', ')}`
  if (word === undefined) return usageError(`${program.name} needs a command`, known)
  return usageError(`${program.name} has no command "${word}"${didYouMean(word, names)}`, known)
}

/** Parses the flags and words of one command. Each error names the word that caused it. */
export function parseInput(
  program: Program,
  command: Command,
  argv: readonly string[],
  env: Environment,
): Input {
  const flags = [...command.flags, ...COMMON_FLAGS]
  const byName = new Map(flags.map(flag => [flag.name, flag]))
  const help = `see: ${[program.name, command.name, '--help'].filter(Boolean).join(' ')}`
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(flags.map(flag => [flag.name, option(flag)])),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const texts = new Map<string, string[]>()
  const loose = tokens.flatMap(token => (token.kind === 'positional' ? [token.value] : []))
  if (command.name === '') {
    refuseLate(program, loose)
    refuseGroup(program, loose)
  }
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const flag = byName.get(token.name)
    if (flag === undefined) {
      const known = [...byName.keys()]
      const [whole, ...others] = known.filter(name => name.startsWith(token.name))
      const near = whole !== undefined && others.length === 0 ? whole : token.name
      const hint = token.rawName.startsWith('--') ? didYouMean(near, known, '--') : ''
      throw usageError(`unknown flag ${token.rawName}${hint}`, command.replaced?.[token.name] ?? help)
    }
    if (flag.kind === 'boolean') {
      if (token.value !== undefined) throw usageError(`${token.rawName} takes no value`, help)
      texts.set(flag.name, ['true'])
      continue
    }
    if (token.value === undefined)
      throw usageError(`${token.rawName} needs a value${placeholder(flag)}`, help)
    if (texts.has(flag.name) && flag.many === undefined)
      throw usageError(`${token.rawName} was given more than once`, 'leave out all but one of them')
    texts.set(flag.name, [...(texts.get(flag.name) ?? []), token.value])
  }
  const isRoot = command.name === '' && program.commands.length > 1
  if (isRoot && loose.length > 0 && command.positionals === undefined) throw noCommand(program, loose[0])
  const values = new Map<string, Value>()
  for (const flag of flags) {
    const given = texts.get(flag.name)
    const fromEnv = flag.env === undefined ? undefined : env[flag.env] || undefined
    const source = given === undefined ? `$${flag.env}` : `--${flag.name}`
    const text = given ?? (fromEnv === undefined ? undefined : [fromEnv])
    if (text !== undefined) values.set(flag.name, convert(flag, text, source, help))
    else if (flag.default !== undefined) values.set(flag.name, flag.default)
  }
  const bound = bindWords(command, loose, help)
  const value = (name: string): Value | undefined => {
    invariant(byName.has(name), `the flag table of "${command.name}" has no --${name}`)
    return values.get(name)
  }
  const positional = (name: string): readonly string[] => {
    const known = (command.positionals ?? []).some(word => word.name === name)
    invariant(known, `the flag table of "${command.name}" has no word ${name}`)
    return bound.get(name) ?? []
  }
  return {
    command,
    bool: name => value(name) === true,
    text: name => {
      const found = value(name)
      return typeof found === 'string' ? found : undefined
    },
    number: name => {
      const found = value(name)
      return typeof found === 'number' ? found : undefined
    },
    list: name => {
      const found = value(name)
      return Array.isArray(found) ? found : typeof found === 'string' ? [found] : []
    },
    given: name => texts.has(name),
    positional: name => positional(name)[0],
    positionals: positional,
  }
}

/** The error for a command after a flag. Only if nothing else fits, because the word may be the flag's value. */
function refuseLate(program: Program, given: readonly string[]): void {
  const isIn = (own: readonly string[]): boolean =>
    own.length > 0 && given.some((_, at) => own.every((word, i) => given[at + i] === word))
  const late = program.commands.find(command => isIn(words(command)))?.name
  if (late !== undefined)
    throw usageError(`the command "${late}" must come before the flags`, `${program.name} ${late} …`)
}

/** The commands that begin with this word, such as `journal verify`. */
export function groupOf({ commands }: Program, word: string | undefined): readonly Command[] {
  return commands.filter(({ name }) => name.startsWith(`${word} `))
}

/** The error for the first word of a group without a second one that fits. */
function refuseGroup(program: Program, [first, second = '-']: readonly string[]): void {
  const names = groupOf(program, first).map(({ name }) => name)
  if (names.length === 0) return
  const given = `${first} ${second}`
  const unknown = `there is no command "${given}"${didYouMean(given, names)}`
  const said = second.startsWith('-') ? `${first} needs a subcommand` : unknown
  throw usageError(said, `the subcommands are: ${names.join(', ')}`)
}

function option(flag: Flag): { type: 'boolean' | 'string'; short?: string; multiple: true } {
  const type = flag.kind === 'boolean' ? 'boolean' : 'string'
  return { type, multiple: true, ...(flag.short === undefined ? {} : { short: flag.short }) }
}

function words(command: Command): string[] {
  return command.name === '' ? [] : command.name.split(' ')
}

function placeholder(flag: Flag): string {
  return flag.value === undefined ? '' : `: --${flag.name} ${flag.value}`
}

/** `\,` is a comma within a name. */
function splitAtCommas(text: string): string[] {
  return text.split(/(?<!\\),/).map(part => part.replaceAll('\\,', ','))
}

function convert(flag: Flag, texts: readonly string[], source: string, usage: string): Value {
  const help = flag.remedy ?? usage
  if (flag.kind === 'boolean') return texts[0] !== '0' && texts[0] !== 'false'
  if (flag.many === true) {
    const parts = texts
      .flatMap(text => (flag.commas === false ? [text] : splitAtCommas(text)))
      .filter(part => part !== '')
    for (const part of parts) check(flag, part, source, help)
    return parts
  }
  const text = texts.at(-1) ?? ''
  check(flag, text, source, help)
  if (flag.kind === 'string' || flag.kind === 'path') return text
  const parse = { integer: parseInteger, duration: parseDuration, bytes: parseBytes }[flag.kind]
  const example = {
    integer: 'a whole number',
    duration: 'a duration such as 15s or 5m',
    bytes: 'a size such as 10MiB',
  }
  const number = parse(text)
  if (number === undefined) throw usageError(`${source} takes ${example[flag.kind]}, not "${text}"`, help)
  if ((flag.min !== undefined && number < flag.min) || (flag.max !== undefined && number > flag.max))
    throw usageError(`${source} must be ${rangeOf(flag)}, not ${text}`, help)
  return number
}

function check(flag: Flag, text: string, source: string, help: string): void {
  if (flag.kind === 'path') refuseTilde(text, source)
  if (flag.choices === undefined || flag.choices.includes(text)) return
  const known = flag.choices.join(', ')
  throw usageError(`${source} cannot be "${text}"${didYouMean(text, flag.choices)} (one of: ${known})`, help)
}

function parseInteger(text: string): number | undefined {
  const number = Number(text)
  return /^-?\d+$/.test(text) && Number.isSafeInteger(number) ? number : undefined
}

function bindWords(command: Command, loose: readonly string[], help: string): Map<string, readonly string[]> {
  const bound = new Map<string, readonly string[]>()
  const rest = [...loose]
  for (const positional of command.positionals ?? []) {
    const taken = positional.many === true ? rest.splice(0) : rest.splice(0, 1)
    if (taken.length === 0 && positional.optional !== true)
      throw usageError(`${positional.name} is missing (${positional.about})`, help)
    if (positional.kind === 'path') for (const text of taken) refuseTilde(text, positional.name)
    bound.set(positional.name, taken)
  }
  if (rest.length > 0) throw usageError(`unexpected argument "${rest[0]}"`, help)
  return bound
}

function rangeOf({ max, min }: Pick<Flag, 'max' | 'min'>): string {
  if (max === undefined) return `at least ${min}`
  return min === undefined ? `at most ${max}` : `from ${min} to ${max}`
}

/** The word of `known` that a mistyped word probably means, if one is close enough. */
export function suggest(word: string, known: Iterable<string>): string | undefined {
  const limit = word.length <= 4 ? 1 : word.length <= 8 ? 2 : 3
  let best: string | undefined
  let bestDistance = limit + 1
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** `; did you mean X?`, or nothing. */
export function didYouMean(word: string, known: Iterable<string>, prefix = ''): string {
  const found = suggest(word, known)
  return found === undefined ? '' : `; did you mean ${prefix}${found}?`
}

/** The number of insertions, deletions, replacements and swaps of neighbours. */
function editDistance(a: string, b: string, stop: number): number {
  if (Math.abs(a.length - b.length) >= stop) return stop
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  const at = (i: number, j: number): number => rows[i]?.[j] ?? stop
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(i - 2, j - 2) + 1 : stop
      row.push(Math.min(replaced, swapped, at(i - 1, j) + 1, at(i, j - 1) + 1))
    }
  }
  return at(a.length, b.length)
}

/** A shell expands `~` only at the start of a word: `--store=~/kim` or a quoted path would name a directory `~`. */
function refuseTilde(path: string, source: string): void {
  if (!path.startsWith('~')) return
  const meant = /^~(?=\/|$)/.test(path) ? `write "${path.replace('~', '$HOME')}", or ` : ''
  throw usageError(
    `${source}: the shell did not expand the ~ of "${path}"`,
    `${meant}use a space instead of "=" and no quotes; if the name really begins with ~, write "./${path}"`,
  )
}

/** The error for a command line that can never work: exit 2. */
export function usageError(message: string, hint: string): KimError {
  return new KimError('usage', message, { hint })
}
