import { parseArgs } from 'node:util'
import { invariant } from '@kim/manifest'
import type { Command, Flag, Input, Positional, Program } from './flag-table.js'
import { parseBytes, parseDuration } from './quantity.js'
import { didYouMean } from './suggest.js'
import { refuseTilde } from './tilde.js'
import { usageError } from './usage-error.js'

type Value = string | number | boolean | readonly string[]

/** Every command takes these; they are answered before the command's code is loaded. */
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
  const names = program.commands.map(command => command.name)
  const known = `the commands are: ${names.join(', ')}`
  if (first === undefined) throw usageError(`${program.name} needs a command`, known)
  const group = names.filter(name => name.startsWith(`${first} `))
  if (group.length > 0)
    throw usageError(
      `${program.name} ${first} needs a subcommand`,
      `the subcommands are: ${group.join(', ')}`,
    )
  throw usageError(`${program.name} has no command "${first}"${didYouMean(first, names)}`, known)
}

/** Reads flags and words of one command. Every refusal names the word that caused it. */
export function parseInput(
  program: Program,
  command: Command,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
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
  if (command.name === '') refuseLate(program, loose)
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const flag = byName.get(token.name)
    if (flag === undefined) {
      const known = [...byName.keys()]
      const hint = token.rawName.startsWith('--') ? didYouMean(token.name, known, '--') : ''
      throw usageError(`unknown flag ${token.rawName}${hint}`, help)
    }
    if (flag.kind === 'boolean') {
      if (token.value !== undefined) throw usageError(`${token.rawName} takes no value`, help)
      texts.set(flag.name, ['true'])
      continue
    }
    if (token.value === undefined)
      throw usageError(`${token.rawName} needs a value${placeholder(flag)}`, help)
    if (texts.has(flag.name) && flag.many === undefined) {
      throw usageError(`${token.rawName} was given more than once`, help)
    }
    texts.set(flag.name, [...(texts.get(flag.name) ?? []), token.value])
  }
  const values = new Map<string, Value>()
  for (const flag of flags) {
    const given = texts.get(flag.name)
    const fromEnv = flag.env === undefined ? undefined : env[flag.env] || undefined
    const source = given === undefined ? `$${flag.env}` : `--${flag.name}`
    const text = given ?? (fromEnv === undefined ? undefined : [fromEnv])
    if (text !== undefined) values.set(flag.name, convert(flag, text, source, help))
    else if (flag.default !== undefined) values.set(flag.name, flag.default)
  }
  return inputOf(command, byName, values, new Set(texts.keys()), bindWords(command, loose, help))
}

/** A command behind a flag is not looked for there: the word may be the flag's own. Said where nothing else fits. */
function refuseLate(program: Program, given: readonly string[]): void {
  const stands = (own: readonly string[]): boolean =>
    own.length > 0 && given.some((_, at) => own.every((word, i) => given[at + i] === word))
  const late = program.commands.find(command => stands(words(command)))?.name
  if (late !== undefined)
    throw usageError(`the command "${late}" must come before the flags`, `${program.name} ${late} …`)
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

/** Names may hold commas: `\,` is one, not the end of a name. */
function splitAtCommas(text: string): string[] {
  return text.split(/(?<!\\),/).map(part => part.replaceAll('\\,', ','))
}

function convert(flag: Flag, texts: readonly string[], source: string, help: string): Value {
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
  if ((flag.min !== undefined && number < flag.min) || (flag.max !== undefined && number > flag.max)) {
    throw usageError(`${source} must be ${rangeOf(flag)}, not ${text}`, help)
  }
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
    if (taken.length === 0 && positional.optional !== true) {
      throw usageError(`${positional.name} is missing (${positional.about})`, help)
    }
    if (positional.kind === 'path') for (const text of taken) refuseTilde(text, positional.name)
    bound.set(positional.name, taken)
  }
  if (rest.length > 0) throw usageError(`unexpected argument "${rest[0]}"`, help)
  return bound
}

function inputOf(
  command: Command,
  flags: ReadonlyMap<string, Flag>,
  values: ReadonlyMap<string, Value>,
  given: ReadonlySet<string>,
  bound: ReadonlyMap<string, readonly string[]>,
): Input {
  const value = (name: string): Value | undefined => {
    invariant(flags.has(name), `the flag table of "${command.name}" has no --${name}`)
    return values.get(name)
  }
  const positional = (name: string): readonly string[] => {
    const known = (command.positionals ?? []).some((word: Positional) => word.name === name)
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
    given: name => given.has(name),
    positional: name => positional(name)[0],
    positionals: positional,
  }
}

function rangeOf({ max, min }: Pick<Flag, 'max' | 'min'>): string {
  if (max === undefined) return `at least ${min}`
  return min === undefined ? `at most ${max}` : `from ${min} to ${max}`
}
