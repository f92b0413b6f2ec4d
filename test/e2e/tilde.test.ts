import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Command, LAUNCHERS } from '../kit/commands.js'
import { homeOf } from '../kit/home.js'

/** Ends a service at once if it should come that far. */
const NOWHERE = ['--url', 'nowhere']

/** Commands of each program, so chosen that every flag with a path is one of theirs. */
const COMMANDS: Readonly<Record<Command, readonly (readonly string[])[]>> = {
  'kim-producer': [
    ['run', ...NOWHERE],
    ['install-service', ...NOWHERE],
    ['doctor', ...NOWHERE],
    ['self-test', ...NOWHERE],
    ['status'],
    ['import'],
    ['journal', 'verify'],
    ['journal', 'gc'],
  ],
  'kim-tail': [[], ['status'], ['show', '1']],
  'kim-replay': [['digest'], ['at'], ['bundle'], ['timeline'], ['verify']],
}

/** Every flag that says in the help that it takes a file or a directory. */
function pathFlags(help: string): string[] {
  const text = help.replaceAll(/\n {8,}/g, ' ')
  const lines = text.split('\n').filter(line => / (DIR|F|FILE|F\.tgz): /.test(line))
  return lines.map(line => /--[a-z-]+/.exec(line)?.[0] ?? line)
}

for (const name of Object.keys(LAUNCHERS) as Command[]) {
  t.test(`CL-55 ${name} - a ~ that no shell has replaced is refused by every flag with a path`, async t => {
    const home = homeOf(t)
    const run = (args: readonly string[], env = {}): { code: number | null; err: string; out: string } => {
      const { status, stderr, stdout } = spawnSync(process.execPath, [LAUNCHERS[name], ...args], {
        cwd: home,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], HOME: home, ...env },
      })
      return { code: status, err: stderr, out: stdout }
    }
    const seen = new Set<string>()
    for (const command of COMMANDS[name]) {
      for (const flag of pathFlags(run([...command, '--help']).out)) {
        if (seen.has(flag) && flag !== '--store') continue
        seen.add(flag)
        const { code, err } = run([...command, `${flag}=~/x`])
        t.equal(code, 2, [name, ...command, flag].join(' '))
        t.match(err, `${flag}: the shell did not expand the ~ of "~/x"`)
        t.match(err, /\n {2}write "\$HOME\/x", or /)
      }
      const { code, err } = run(command, { KIM_STORE: '~/x' })
      t.same([code, /\$KIM_STORE: .* the ~ of "~\/x"/.test(err)], [2, true], command.join(' '))
    }
    t.ok(seen.has('--store'), [...seen].join(' '))
    if (name !== 'kim-producer') t.ok(seen.has('--events'))
    else t.ok(['--events-file-template', '--token-file', '--state-file'].every(flag => seen.has(flag)))
    if (name === 'kim-replay') t.equal(run(['verify', '~/x']).code, 2, 'a bundle')
    t.notOk(existsSync(join(home, '~')))
  })
}
