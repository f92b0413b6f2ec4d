import type { Command, Program } from './flag-table.js'
import { COMMON_FLAGS, usageError } from './parse.js'

/** The command that prints completion scripts. `program` is a function because the program holds this command. */
export function completionCommand(program: () => Program): Command {
  return {
    name: 'completion',
    about: 'Print a completion script.',
    positionals: [{ name: 'shell', about: SHELLS.join(', '), choices: SHELLS }],
    flags: [],
    load: async () => ({
      run: (input, io) => {
        io.stdout.write(completionScript(program(), input.positional('shell') ?? ''))
        return 0
      },
    }),
  }
}

/** Shells that {@link completionScript} writes for. */
export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const

/**
 * A completion script made from the flag table. It is static, because starting Node on every Tab would be slow; a new
 * version of the program needs a new script.
 */
export function completionScript(program: Program, shell: string): string {
  const name = program.name
  const id = name.replace(/\W/g, '_')
  switch (shell) {
    case 'bash':
      return `${bash(program, id)}complete -o default -F _${id} ${name}\n`
    case 'zsh':
      return `#compdef ${name}\nautoload -U +X bashcompinit && bashcompinit\n${bash(program, id)}complete -o default -F _${id} ${name}\n`
    case 'fish':
      return fish(program)
    case 'powershell':
      return powershell(program)
    default:
      throw usageError(`no completion for "${shell}"`, `supported shells: ${SHELLS.join(', ')}`)
  }
}

function flagsOf(command: Command | undefined): string[] {
  return [...(command?.flags ?? []), ...COMMON_FLAGS].map(flag => `--${flag.name}`)
}

function bash(program: Program, id: string): string {
  const named = program.commands.filter(command => command.name !== '')
  const cases = named
    .toSorted((a, b) => b.name.length - a.name.length)
    .map(command => bashCase(`"${command.name} "*`, command, flagsOf(command)))
  const top = [...new Set(named.map(command => command.name.split(' ')[0]))].join(' ')
  const second = new Map<string, string[]>()
  for (const command of named) {
    const [first, next] = command.name.split(' ')
    if (first !== undefined && next !== undefined) second.set(first, [...(second.get(first) ?? []), next])
  }
  const common = program.commands.find(command => command.name === '')
  const groups = [...second].map(([first, next]) => `    "${first} "*) words="${next.join(' ')}" ;;`)
  return [
    `_${id}() {`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell expands these, not we
    '  local line="${COMP_WORDS[*]:1} " current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}" words',
    '  # "--flag=value" is three words to the shell.',
    '  if [ "$current" = "=" ]; then current=""',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell expands these, not we
    '  elif [ "$before" = "=" ]; then before="${COMP_WORDS[COMP_CWORD - 2]}"; fi',
    '  case "$line" in',
    ...cases,
    ...groups,
    bashCase('*', common, [top, ...flagsOf(common)]),
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    '',
  ].join('\n')
}

/** After a flag that takes a value, offer its values if they are known, else nothing: then the shell offers files. */
function bashCase(pattern: string, command: Command | undefined, words: readonly string[]): string {
  const behind = new Map<string, string[]>()
  for (const { choices = [], kind, name, short } of command?.flags ?? []) {
    if (kind === 'boolean') continue
    const values = choices.join(' ')
    const names = short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`]
    behind.set(values, [...(behind.get(values) ?? []), ...names])
  }
  const own = (command?.positionals ?? []).flatMap(({ choices = [] }) => choices)
  const all = `words="${[...own, ...words].join(' ')}" ;;`
  if (behind.size === 0) return `    ${pattern}) ${all}`
  const cases = [...behind].map(([values, names]) => `      ${names.join('|')}) words="${values}" ;;`)
  return [`    ${pattern}) case "$before" in`, ...cases, `      *) ${all}`, '      esac ;;'].join('\n')
}

function fish(program: Program): string {
  const lines: string[] = []
  for (const command of program.commands) {
    const own = command.name.split(' ').filter(Boolean)
    const seen =
      own.length === 0
        ? '__fish_use_subcommand'
        : own.map(word => `__fish_seen_subcommand_from ${word}`).join('; and ')
    if (own.length > 0) {
      const before = own.length === 1 ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${own[0]}`
      lines.push(
        `complete -c ${program.name} -f -n ${quote(before)} -a ${quote(own.at(-1) ?? '')} -d ${quote(command.about)}`,
      )
    }
    const offered = (command.positionals ?? []).flatMap(({ choices = [] }) => choices)
    if (offered.length > 0)
      lines.push(`complete -c ${program.name} -f -n ${quote(seen)} -a ${quote(offered.join(' '))}`)
    for (const flag of [...command.flags, ...COMMON_FLAGS]) {
      const short = flag.short === undefined ? '' : ` -s ${flag.short}`
      const choices = flag.choices === undefined ? '' : ` -a ${quote(flag.choices.join(' '))}`
      const value = flag.kind === 'boolean' ? '' : ' -r'
      lines.push(
        `complete -c ${program.name} -n ${quote(seen)} -l ${flag.name}${short}${value}${choices} -d ${quote(flag.about)}`,
      )
    }
  }
  return `${lines.join('\n')}\n`
}

function powershell(program: Program): string {
  const table = program.commands.map(
    command =>
      `    ${powershellQuote(command.name)} = @(${flagsOf(command).map(powershellQuote).join(', ')})`,
  )
  const top = [...new Set(program.commands.map(command => command.name.split(' ')[0]).filter(Boolean))]
  return [
    `Register-ArgumentCompleter -Native -CommandName ${program.name} -ScriptBlock {`,
    '  param($word, $ast, $cursor)',
    '  $flags = @{',
    ...table,
    '  }',
    '  $line = ($ast.CommandElements | Select-Object -Skip 1) -join " "',
    '  $command = $flags.Keys | Where-Object { $_ -ne "" -and "$line ".StartsWith("$_ ") } | Sort-Object Length -Descending | Select-Object -First 1',
    `  $words = if ($command) { $flags[$command] } else { @(${top.map(word => powershellQuote(word ?? '')).join(', ')}) + $flags[""] }`,
    '  $words | Where-Object { $_ -like "$word*" } | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }',
    '}',
    '',
  ].join('\n')
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function powershellQuote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
