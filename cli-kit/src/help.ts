import type { Argv } from 'yargs'
import type { Command, Flag, FlagKind, Program } from './flag-table.js'
import { COMMON_FLAGS } from './parse.js'

/** The help text of a program or of one command. Only this file loads yargs: no command waits for it. */
export async function helpText(
  program: Program,
  command: Command | undefined,
  columns: number,
): Promise<string> {
  const codes = command?.exitCodes ?? program.exitCodes
  const exitCodes = `Exit codes: ${codes.map(([code, meaning]) => `${code} ${meaning}`).join(' · ')}`
  if (command === undefined) {
    const parser = await parserOf(program, `${program.about}\n\nUsage: $0 <command> [flags]`)
    for (const { name, about } of program.commands) parser.command(name || '$0', about)
    return `${await parser.epilogue(exitCodes).wrap(columns).getHelp()}\n`
  }
  const shown = command.positionals ?? []
  const words = shown.map(word => {
    const name = word.many === true ? `${word.name}...` : word.name
    return word.optional === true ? `[${name}]` : `<${name}>`
  })
  const line = [program.name, command.name, ...words, command.requires, '[flags]'].filter(Boolean).join(' ')
  const others = command.name === '' ? program.commands.filter(other => other.name !== '') : []
  const more = others.length === 0 ? '' : `, or ${program.name} <command> [flags]`
  const about = shown.map(word => `  ${word.name}  ${word.about}`)
  const parser = await parserOf(program, [`${command.about}\n\nUsage: ${line}${more}`, ...about].join('\n'))
  addFlags(parser, command.flags)
  for (const { name, about } of others) parser.command(name, about)
  const hint = others.length === 0 ? '' : `${program.name} <command> --help shows the flags of a command.\n\n`
  parser.epilogue(hint + exitCodes).wrap(columns)
  const { notes = [], examples = [] } = command
  // Examples are not wrapped, because they are there to be copied.
  return [
    await parser.getHelp(),
    ...(notes.length === 0 ? [] : ['', ...notes]),
    ...(examples.length === 0 ? [] : ['', 'Examples:']),
    ...examples.flatMap(([example, meaning]) => [`  ${example}`, `      ${meaning}`]),
    '',
  ].join('\n')
}

/** A yargs parser that knows the common flags: it has methods of its own for them. */
async function parserOf(program: Program, usage: string): Promise<Argv> {
  const { default: yargs } = await import('yargs')
  const parser = yargs([]).scriptName(program.name).usage(usage)
  for (const { name, short, about } of COMMON_FLAGS) {
    if (name === 'version') parser.version(name, about, program.version)
    else parser.help(name, about)
    if (short !== undefined) parser.alias(short, name)
  }
  return parser
}

/** The placeholder for a value, if its flag names none. */
const PLACEHOLDERS: Readonly<Record<Exclude<FlagKind, 'boolean'>, string>> = {
  string: 'TEXT',
  path: 'FILE',
  integer: 'N',
  duration: 'DUR',
  bytes: 'SIZE',
}

function addFlags(parser: Argv, flags: readonly Flag[]): void {
  let topic: string | undefined
  for (const flag of flags) {
    topic = flag.topic ?? topic
    const notes = [
      flag.env === undefined ? '' : `[$${flag.env}]`,
      flag.many === true ? (flag.commas === false ? '[repeat]' : '[repeat or comma]') : '',
    ]
    const value = flag.kind === 'boolean' ? '' : `${flag.value ?? PLACEHOLDERS[flag.kind]}:`
    parser.option(flag.name, {
      ...(flag.short === undefined ? {} : { alias: flag.short }),
      ...(topic === undefined ? {} : { group: `${topic}:` }),
      describe: [value, flag.about, ...notes].filter(Boolean).join(' '),
      // No type for yargs to print: the placeholder says more than "string".
      ...(flag.kind === 'boolean' ? { boolean: true } : { requiresArg: true }),
      ...(flag.choices === undefined ? {} : { choices: [...flag.choices] }),
      ...(flag.default === undefined ? {} : { defaultDescription: String(flag.default) }),
    })
  }
}
