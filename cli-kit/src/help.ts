import type { Argv } from 'yargs'
import type { Command, Flag, FlagKind, Program } from './flag-table.js'
import { COMMON_FLAGS } from './parse.js'

/** The help text of a program or of one command. yargs is loaded here and nowhere on the way to running a command. */
export async function helpText(
  program: Program,
  command: Command | undefined,
  columns: number,
): Promise<string> {
  return command === undefined
    ? await programHelp(program, columns)
    : await commandHelp(program, command, columns)
}

async function programHelp(program: Program, columns: number): Promise<string> {
  const parser = await parserOf(program, `${program.about}\n\nUsage: $0 <command> [flags]`)
  for (const command of program.commands) parser.command(command.name || '$0', command.about)
  return `${await parser.epilogue(exitCodes(program)).wrap(columns).getHelp()}\n`
}

async function commandHelp(program: Program, command: Command, columns: number): Promise<string> {
  const told = (command.positionals ?? []).filter(word => word.hidden !== true)
  const words = told.map(word => {
    const name = word.many === true ? `${word.name}...` : word.name
    return word.optional === true ? `[${name}]` : `<${name}>`
  })
  const line = [program.name, command.name, ...words, '[flags]'].filter(Boolean).join(' ')
  const about = told.map(word => `  ${word.name}  ${word.about}`)
  const parser = await parserOf(program, [`${command.about}\n\nUsage: ${line}`, ...about].join('\n'))
  addFlags(parser, command.flags)
  const others = command.name === '' ? program.commands.filter(other => other.name !== '') : []
  const more = others.length === 0 ? '' : `Commands: ${others.map(other => other.name).join(', ')}\n\n`
  const help = await parser
    .epilogue(more + exitCodes(program))
    .wrap(columns)
    .getHelp()
  return `${help}\n${notes(command)}${examples(command)}`
}

function notes({ notes = [] }: Command): string {
  return notes.length === 0 ? '' : `\n${notes.join('\n')}\n`
}

/** Never wrapped: an example is there to be copied. */
function examples(command: Command): string {
  const lines = (command.examples ?? []).flatMap(([example, meaning]) => [`  ${example}`, `      ${meaning}`])
  return lines.length === 0 ? '' : `\nExamples:\n${lines.join('\n')}\n`
}

/** yargs, told of the common flags in the way that it reserves for them. */
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

/** What stands for a value where its flag does not say. */
const PLACEHOLDERS: Readonly<Record<Exclude<FlagKind, 'boolean'>, string>> = {
  string: 'TEXT',
  path: 'FILE',
  integer: 'N',
  duration: 'DUR',
  bytes: 'SIZE',
}

interface Options {
  option(name: string, options: Record<string, unknown>): unknown
}

function addFlags(parser: Options, flags: readonly Flag[]): void {
  for (const flag of flags) {
    const notes = [
      flag.env === undefined ? '' : `[$${flag.env}]`,
      flag.many === true ? (flag.commas === false ? '[repeat]' : '[repeat or comma]') : '',
      flag.kind === 'boolean' || flag.choices !== undefined
        ? ''
        : `[${flag.value ?? PLACEHOLDERS[flag.kind]}]`,
    ]
    parser.option(flag.name, {
      ...(flag.short === undefined ? {} : { alias: flag.short }),
      describe: [flag.about, ...notes].filter(Boolean).join(' '),
      // Without a type of its own: what stands for the value says more than "string".
      ...(flag.kind === 'boolean' ? { boolean: true } : { requiresArg: true }),
      ...(flag.choices === undefined ? {} : { choices: [...flag.choices] }),
      ...(flag.default === undefined ? {} : { defaultDescription: String(flag.default) }),
    })
  }
}

function exitCodes(program: Program): string {
  return `Exit codes: ${program.exitCodes.map(([code, meaning]) => `${code} ${meaning}`).join(' · ')}`
}
