import type { Command, Flag, Program } from './flag-table.js'
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
  const { default: yargs } = await import('yargs')
  const parser = yargs([])
    .version(false)
    .help(false)
    .scriptName(program.name)
    .usage(`${program.about}\n\nUsage: $0 <command> [flags]`)
  for (const command of program.commands) parser.command(command.name || '$0', command.about)
  addFlags(parser, COMMON_FLAGS)
  return `${await parser.epilogue(exitCodes(program)).wrap(columns).getHelp()}\n`
}

async function commandHelp(program: Program, command: Command, columns: number): Promise<string> {
  const { default: yargs } = await import('yargs')
  const words = (command.positionals ?? []).map(word => {
    const name = word.many === true ? `${word.name}...` : word.name
    return word.optional === true ? `[${name}]` : `<${name}>`
  })
  const line = [program.name, command.name, ...words, '[flags]'].filter(Boolean).join(' ')
  const about = (command.positionals ?? []).map(word => `  ${word.name}  ${word.about}`)
  const parser = yargs([])
    .scriptName(program.name)
    .usage([`${command.about}\n\nUsage: ${line}`, ...about].join('\n'))
  addFlags(parser, [...command.flags, ...COMMON_FLAGS])
  for (const [example, meaning] of command.examples ?? []) parser.example(example, meaning)
  const others = command.name === '' ? program.commands.filter(other => other.name !== '') : []
  const more = others.length === 0 ? '' : `Commands: ${others.map(other => other.name).join(', ')}\n\n`
  return `${await parser
    .epilogue(more + exitCodes(program))
    .version(false)
    .help(false)
    .wrap(columns)
    .getHelp()}\n`
}

interface Options {
  option(name: string, options: Record<string, unknown>): unknown
}

function addFlags(parser: Options, flags: readonly Flag[]): void {
  for (const flag of flags) {
    const notes = [
      flag.env === undefined ? '' : `[$${flag.env}]`,
      flag.many === true ? '[repeat or comma]' : '',
    ]
    parser.option(flag.name, {
      ...(flag.short === undefined ? {} : { alias: flag.short }),
      describe: [flag.about, ...notes].filter(Boolean).join(' '),
      ...(flag.kind === 'boolean' ? { boolean: true } : { string: true, requiresArg: true }),
      ...(flag.choices === undefined ? {} : { choices: [...flag.choices] }),
      ...(flag.default === undefined ? {} : { defaultDescription: String(flag.default) }),
    })
  }
}

function exitCodes(program: Program): string {
  return `Exit codes: ${program.exitCodes.map(([code, meaning]) => `${code} ${meaning}`).join(' · ')}`
}
