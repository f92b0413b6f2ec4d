import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Command, LAUNCHERS, root, run as runScript } from '../kit/commands.js'

function run(name: Command, ...args: string[]): { readonly code: number | null; readonly text: string } {
  const { code, out } = runScript(LAUNCHERS[name], args)
  return { code, text: out }
}

/** The commands that a program's help lists, but for the one without a name. */
function listed(name: Command): string[] {
  const { text } = run(name, 'help')
  return [...text.matchAll(new RegExp(`^  ${name} ([a-z][a-z -]*?)(?= {2}| <| \\[|$)`, 'gm'))].map(
    ([, words = '']) => words.trim(),
  )
}

/** The text of a section of the specification of commands, by its number. */
function section(number: number): string {
  const spec = readFileSync(join(root, 'spec/cli.md'), 'utf8')
  return new RegExp(`^## ${number}\\. [^]*?(?=^## )`, 'm').exec(spec)?.[0] ?? ''
}

t.test('CL-1 help - kim-producer lists the commands that the specification has, and no other', async t => {
  const specified = [...section(3).matchAll(/^\| ((?:`[a-z][^`]*`(?:, )?)+) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z -]+?)(?: [A-Z]+)?`/g)].map(([, words]) => words),
  )
  t.same(listed('kim-producer').sort(), [...specified, 'run'].sort())
})

t.test('CL-1 help - of run has each flag that the specification has, and no other', async t => {
  const flags = (text: string): string[] => [...new Set(text.match(/--[a-z][a-z-]+/g) ?? [])].sort()
  const cells = [...section(2).matchAll(/^\| (`--[^|]*(?:\\\|[^|]*)*) \|/gm)].map(([, cell = '']) => cell)
  const shown = [...run('kim-producer', 'run', '--help').text.matchAll(/^ {2,6}(?:-\w, )?(--[a-z-]+)/gm)]
  t.same(
    shown
      .map(([, flag]) => flag)
      .filter(flag => flag !== '--help' && flag !== '--version')
      .sort(),
    flags(cells.join('\n')),
  )
})

t.test('CL-1 help - of a group lists its commands alone', async t => {
  const { text } = run('kim-tail', 'cursors', '--help')
  t.same(
    [...text.matchAll(/^ {2}kim-tail (\S+ ?\S+) {2}/gm)].map(([, words]) => words),
    ['cursors ls', 'cursors set', 'cursors rm'],
  )
})

t.test('D12 CL-1 help - lists flags by topic', async t => {
  const topics = (text: string): string[] =>
    [...text.matchAll(/^([A-Z][a-z ]+):$/gm)].map(([, topic = '']) => topic)
  const ofTail = topics(run('kim-tail', '--help').text)
  t.same(ofTail.slice(0, 4), [
    'Commands',
    'Journal and personas',
    'Which records',
    'Where to begin and to end',
  ])
  const ofRun = topics(run('kim-producer', 'run', '--help').text)
  t.same(ofRun.slice(0, 4), ['Store', 'Server', 'Inboxes', 'When to poll'])
})

t.test('D6 CL-1 help - a comma separates personas in every command', async t => {
  for (const [name, ...words] of [
    ['kim-producer', 'run'],
    ['kim-producer', 'doctor'],
    ['kim-producer', 'poke'],
    ['kim-producer', 'journal', 'export'],
    ['kim-tail'],
    ['kim-tail', 'status'],
    ['kim-replay', 'at'],
    ['kim-replay', 'play'],
  ] as const)
    t.match(
      run(name, ...words, '--help').text,
      /--persona\b(?:(?! --)[\s\S])*\[repeat or\s+comma\]/,
      words.join(' '),
    )
})

for (const name of Object.keys(LAUNCHERS) as Command[]) {
  t.test(`CL-1 help - of every command of ${name}, and completion for each shell`, async t => {
    const commands = listed(name)
    t.ok(commands.length > 5, commands.join(', '))
    for (const command of commands) {
      const { code, text } = run(name, ...command.split(' '), '--help')
      t.equal(code, 0, command)
      t.ok(text.includes(`\nUsage: ${name} ${command} `), `${command}: ${text.slice(0, 200)}`)
      t.notMatch(text, /\[string\]|undefined/)
    }
    for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
      const { code, text } = run(name, 'completion', shell)
      t.equal(code, 0)
      for (const command of commands)
        t.ok(text.includes(command.split(' ').at(-1) ?? ''), `${shell} ${command}`)
    }
  })
}
