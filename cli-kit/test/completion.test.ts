import { spawnSync } from 'node:child_process'
import { completionScript, type Program, SHELLS } from '@kim/cli-kit'
import t from 'tap'

const load = async (): Promise<never> => {
  throw t.fail('completion loads no command')
}
const program: Program = {
  name: 'kim-test',
  version: '1.0.0',
  about: "a program with a quote ' in it",
  commands: [
    {
      name: 'journal verify',
      about: "judge it's bytes",
      flags: [{ name: 'json', kind: 'boolean', about: 'as JSON' }],
      load,
    },
    {
      name: 'journal stats',
      about: 'count',
      flags: [{ name: 'since', kind: 'string', about: 'from when' }],
      load,
    },
    {
      name: 'status',
      about: 'how it is',
      flags: [
        { name: 'output', short: 'o', kind: 'string', choices: ['short', 'json'], about: 'how' },
        { name: 'store', kind: 'path', about: 'where' },
      ],
      load,
    },
    {
      name: 'speak',
      about: 'say it',
      positionals: [{ name: 'tongue', about: 'how', choices: ['bash', 'fish'] }],
      flags: [],
      load,
    },
  ],
  exitCodes: [],
}

t.test('completion - every shell gets every command and flag', async t => {
  for (const shell of SHELLS) {
    const script = completionScript(program, shell)
    for (const word of ['journal', 'verify', 'stats', 'status', 'json', 'since', 'output', 'help'])
      t.match(script, word, `${shell}: ${word}`)
  }
  t.throws(() => completionScript(program, 'csh'), { code: 'usage' })
})

function complete(line: string[]): string[] {
  const words = line.map(word => `'${word}'`).join(' ')
  const script = `${completionScript(program, 'bash')}\nCOMP_WORDS=(${words}); COMP_CWORD=${line.length - 1}; _kim_test; echo "\${COMPREPLY[@]}"`
  const { stdout, status } = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
  t.equal(status, 0)
  return stdout.trim().split(' ')
}

const bash = spawnSync('bash', ['--version']).status === 0
t.test(
  'completion - bash offers what fits the words so far',
  { skip: bash ? false : 'needs bash' },
  async t => {
    t.same(complete(['kim-test', 'jo']), ['journal'])
    t.same(complete(['kim-test', 'journal', '']), ['verify', 'stats'])
    t.same(complete(['kim-test', 'journal', 'verify', '--j']), ['--json'])
    t.same(complete(['kim-test', 'status', '--o']), ['--output'])
    t.same(complete(['kim-test', 'status', '-o', '']), ['short', 'json'], 'a value, where one is to come')
    t.same(complete(['kim-test', 'status', '--output', 'j']), ['json'])
    t.same(complete(['kim-test', 'status', '--output', '=', 'sh']), ['short'])
    t.same(complete(['kim-test', 'status', '--output', '=']), ['short', 'json'])
    t.same(complete(['kim-test', 'status', '--store', '']), [''], 'of a file the shell knows more')
    t.same(complete(['kim-test', 'status', '--store', 'x', '--o']), ['--output'])
    t.same(complete(['kim-test', 'speak', 'f']), ['fish'])
  },
)
