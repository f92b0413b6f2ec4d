import { PassThrough } from 'node:stream'
import { asKimError, type Command, type Io, type Program, runProgram } from '@kim/cli-kit'
import t from 'tap'

let seen: Record<string, unknown> = {}

const verify: Command = {
  name: 'journal verify',
  about: 'judge a journal',
  positionals: [{ name: 'DIR', kind: 'path', about: 'where it is', optional: true }],
  flags: [
    { name: 'json', kind: 'boolean', about: 'as JSON' },
    {
      name: 'persona',
      short: 'p',
      kind: 'string',
      many: true,
      value: 'NAME',
      about: 'whose',
      env: 'KIM_PERSONA',
    },
    {
      name: 'lines',
      short: 'n',
      kind: 'integer',
      min: 0,
      max: 100,
      value: 'N',
      about: 'how many',
      default: 10,
    },
    { name: 'author', kind: 'string', many: true, commas: false, value: 'NAME', about: 'by this author' },
    { name: 'timeout', kind: 'duration', value: 'DUR', about: 'how long' },
    { name: 'size', kind: 'bytes', value: 'SIZE', about: 'how large' },
    { name: 'store', kind: 'path', value: 'DIR', about: 'which store', env: 'KIM_STORE' },
    { name: 'file', kind: 'path', many: true, commas: false, value: 'F', about: 'which files' },
    { name: 'output', short: 'o', kind: 'string', choices: ['short', 'json'], about: 'how' },
  ],
  load: async () => ({
    run: input => {
      seen = {
        json: input.bool('json'),
        persona: input.list('persona'),
        author: input.list('author'),
        lines: input.number('lines'),
        given: input.given('lines'),
        timeout: input.number('timeout'),
        size: input.number('size'),
        output: input.text('output'),
        dir: input.positional('DIR'),
        store: input.text('store'),
        files: input.list('file'),
      }
      return 0
    },
  }),
}

const program: Program = {
  name: 'kim-test',
  version: '9.8.7',
  about: 'a program',
  commands: [verify, { name: 'status', about: 'how it is', flags: [], load: async () => ({ run: () => 7 }) }],
  exitCodes: [
    [0, 'ok'],
    [2, 'usage'],
  ],
}

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

function drained(stream: PassThrough): string {
  let text = ''
  for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) text += String(chunk)
  return text
}

async function run(argv: string[], env: Record<string, string> = {}): Promise<Ran> {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const io: Io = { stdout, stderr, env, signal: new AbortController().signal }
  seen = {}
  const code = await runProgram(program, argv, io)
  return { code, out: drained(stdout), err: drained(stderr) }
}

t.test('flags - every kind is read, in long, short and joined form', async t => {
  const argv = [
    'journal',
    'verify',
    '-p',
    'river,argus',
    '--persona=loom',
    '--author',
    'river, the second',
    '-n5',
    '--timeout',
    '1m30s',
    '--size',
    '10MiB',
    '--store=./~/x',
    '--file',
    'a,b',
    '--file=/c~',
    '--json',
    'here',
  ]
  t.equal((await run(argv)).code, 0)
  t.same(seen, {
    json: true,
    persona: ['river', 'argus', 'loom'],
    author: ['river, the second'],
    lines: 5,
    given: true,
    timeout: 90_000,
    size: 10 * 1024 ** 2,
    output: undefined,
    dir: 'here',
    store: './~/x',
    files: ['a,b', '/c~'],
  })
})

t.test('flags - a default and a variable fill in, the command line wins', async t => {
  await run(['journal', 'verify'], { KIM_PERSONA: 'river' })
  t.match(seen, { persona: ['river'], lines: 10, given: false })
  await run(['journal', 'verify', '-p', 'loom'], { KIM_PERSONA: 'river' })
  t.match(seen, { persona: ['loom'] })
  await run(['journal', 'verify'], { KIM_PERSONA: '' })
  t.match(seen, { persona: [] })
})

const REFUSED: readonly (readonly [argv: string[], says: RegExp])[] = [
  [['jornal'], /no command "jornal"/],
  [['staus'], /no command "staus"; did you mean status\?/],
  [['journal'], /: journal needs a subcommand[\s\S]*journal verify/],
  [['journal', '-x'], /: journal needs a subcommand/],
  [['journal', 'verfy'], /there is no command "journal verfy"; did you mean journal verify\?/],
  [
    ['--lines', '5', 'journal', 'verify'],
    /the command "journal verify" must come before the flags\n {2}\S+ journal verify …/,
  ],
  [['journal', 'verify', '--jsn'], /unknown flag --jsn; did you mean --json\?/],
  [['journal', 'verify', '-x'], /unknown flag -x/],
  [['journal', 'verify', '--lines', 'ten'], /--lines takes a whole number, not "ten"/],
  [['journal', 'verify', '--lines', '1.5'], /--lines takes a whole number/],
  [['journal', 'verify', '--lines', '101'], /--lines must be from 0 to 100/],
  [['journal', 'verify', '--lines'], /--lines needs a value: --lines N/],
  [['journal', 'verify', '-n', '1', '-n', '2'], /-n was given more than once/],
  [['journal', 'verify', '--json=yes'], /--json takes no value/],
  [['journal', 'verify', '--timeout', 'soon'], /--timeout takes a duration/],
  [['journal', 'verify', '--size', '1XB'], /--size takes a size/],
  [['journal', 'verify', '-o', 'jsno'], /--output cannot be "jsno"; did you mean json\?/],
  [
    ['journal', 'verify', '--store=~/x'],
    /--store: .* the ~ of "~\/x"[\s\S]*write "\$HOME\/x", or use a space/,
  ],
  [['journal', 'verify', '--store', '~river/x'], /--store: .* the ~ of "~river\/x"[^$]*"\.\/~river\/x"/],
  [['journal', 'verify', '--file', 'a', '--file=~'], /--file: .* the ~ of "~"\n/],
  [['journal', 'verify', '~/x'], /DIR: .* the ~ of "~\/x"/],
  [['journal', 'verify', 'a', 'b'], /unexpected argument "b"/],
]

for (const [argv, says] of REFUSED) {
  t.test(`refusal - ${argv.join(' ')}`, async t => {
    const { code, err, out } = await run(argv)
    t.equal(code, 2)
    t.match(err, says)
    t.match(err, /\n {2}\S/, 'a second line says what to do')
    t.equal(out, '')
    t.same(seen, {}, 'nothing ran')
  })
}

t.test('refusal - CL-55 of a variable that names a path no shell has expanded', async t => {
  const { code, err } = await run(['journal', 'verify'], { KIM_STORE: '~/x' })
  t.equal(code, 2)
  t.match(err, /\$KIM_STORE: .* the ~ of "~\/x"/)
  t.equal((await run(['journal', 'verify', '--store', 'x'], { KIM_STORE: '~/x' })).code, 0)
})

t.test('errors - are JSON on stdout too for a caller that reads JSON', async t => {
  const { code, out } = await run(['journal', 'verify', '--json', '--nope'])
  t.equal(code, 2)
  t.match(JSON.parse(out), { ok: false, error: { code: 'usage', message: /--nope/ } })
})

t.test('common - version, help and exit codes come without running anything', async t => {
  t.same(await run(['--version']), { code: 0, out: '9.8.7\n', err: '' })
  t.match(JSON.parse((await run(['--version', '--json'])).out), { name: 'kim-test', version: '9.8.7' })
  const help = await run(['journal', 'verify', '--help'])
  t.equal(help.code, 0)
  for (const flag of verify.flags) t.match(help.out, `--${flag.name}`)
  t.match(help.out, /Usage: kim-test journal verify \[DIR\] \[flags\]/)
  const all = await run(['help'])
  t.match(all.out, /journal verify +judge a journal/)
  t.match(all.out, /Exit codes: 0 ok · 2 usage/)
  const bare = await run([])
  t.equal(bare.code, 2)
  t.match(bare.out, /Usage: kim-test <command>/)
  t.same(seen, {})
})

t.test("commands - their exit code is the program's", async t => {
  t.equal((await run(['status'])).code, 7)
})

t.test('errors - a full disk and too many open files have their own hints', async t => {
  const hintOf = (code: string): string =>
    asKimError(Object.assign(new Error(code), { code, syscall: 'mkdtemp', path: '/x' })).hint
  t.match(hintOf('ENOSPC'), /^free disk space/)
  t.match(hintOf('EDQUOT'), /^free disk space/)
  t.match(hintOf('EMFILE'), /ulimit -n/)
  t.match(hintOf('ENOENT'), /^check the path/)
  t.match(hintOf('EIO'), /the disk reported an error/)
})
