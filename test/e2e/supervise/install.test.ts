import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openJournal } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { FakeSupervisor } from '../../kit/fake-supervisor.js'
import { homeOf } from '../../kit/kijito/index.js'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const bin = join(root, 'producer/bin/kim-producer.js')

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A user whose supervisor does as it is told. */
class User {
  readonly home: string
  readonly units: string
  readonly unit: string
  readonly store: string
  readonly supervisor: FakeSupervisor
  path: string

  constructor(t: Test) {
    this.home = realpathSync(homeOf(t))
    this.units = join(this.home, 'config', 'systemd', 'user')
    this.unit = join(this.units, 'kim-producer.service')
    this.store = join(this.home, 'store')
    this.supervisor = new FakeSupervisor(join(this.home, 'bin'))
    this.path = this.supervisor.path
  }

  /** Runs the command at home, with nothing of this process's environment. */
  run(command: string, ...args: string[]): Ran {
    const { status, stdout, stderr } = spawnSync(process.execPath, [bin, command, ...args], {
      cwd: this.home,
      encoding: 'utf8',
      env: {
        PATH: this.path,
        HOME: this.home,
        XDG_CONFIG_HOME: join(this.home, 'config'),
        XDG_STATE_HOME: join(this.home, 'state'),
      },
    })
    return { code: status, out: stdout, err: stderr }
  }

  install(...flags: string[]): Ran {
    return this.run('install-service', '--target', 'systemd-user', ...flags)
  }

  uninstall(...flags: string[]): Ran {
    return this.run('uninstall-service', '--target', 'systemd-user', ...flags)
  }

  /** What the doctor sees of the service of a store. */
  service(...flags: string[]): { status: string; evidence: string; remedy: string | null } | undefined {
    const { out } = this.run('doctor', '--json', '--only', 'service', ...flags)
    return (JSON.parse(out) as { checks: { status: string; evidence: string; remedy: string | null }[] })
      .checks[0]
  }

  /** Everything below home, but for the supervisor's own. */
  everything(): string[] {
    return readdirSync(this.home, { recursive: true })
      .map(String)
      .filter(name => !name.startsWith('bin'))
      .sort()
  }
}

/** Units of systemd only. */
const skip = process.platform !== 'linux' && 'systemd only'

t.test('install-service - CL-56 does what it lists, in absolute paths', { skip }, async t => {
  const user = new User(t)
  const flags = [
    '--store',
    'store',
    '--events-file-template',
    'out/{persona}/ev.ndjson',
    '--activity-file',
    'seen/a.json',
  ]
  const plan = user.install('--dry-run', ...flags)
  t.equal(plan.code, 0, plan.err)
  const paths = [...plan.out.matchAll(/^(?:make|write) +(.*)$/gm)].map(([, path = '']) => path)
  const made = ['out', 'seen', 'state/kim/clients/kim-producer/sinks'].map(path => join(user.home, path))
  t.same(paths, [user.store, ...made, user.units, user.unit])
  t.same(user.everything(), [], 'a dry run makes nothing')
  t.same(user.supervisor.calls(), [])
  const done = user.install(...flags)
  t.equal(done.code, 0, done.err)
  t.equal(done.out.replace(/^.* is installed;.*$/m, 'nothing was changed'), plan.out)
  t.same(user.supervisor.calls(), [
    'systemctl --user daemon-reload',
    'systemctl --user enable kim-producer.service',
    'systemctl --user restart kim-producer.service',
  ])
  const words = readFileSync(user.unit, 'utf8')
  t.match(words, `--events-file-template=${join(user.home, 'out/{persona}/ev.ndjson')}`)
  t.notMatch(user.everything().join(), /persona/, 'no directory is called after what stands for a name')
})

t.test(
  'install-service - CL-19 a dry run says that no supervisor can be asked, and what is there already',
  { skip },
  async t => {
    const user = new User(t)
    const words = 'Failed to connect to bus: No medium found'
    const file = join(user.path, 'systemd-run')
    writeFileSync(file, `#!/bin/sh\necho '${words}' >&2\nexit 1\n`)
    chmodSync(file, 0o755)
    mkdirSync(user.units, { recursive: true })
    const { code, out, err } = user.install('--dry-run', '--store', user.store)
    t.equal(code, 0)
    t.match(err, `installing would fail now: ${words}; this login session has no systemd`)
    t.match(out, `the unit has no sandbox, because it could not be tested: ${words}\n`)
    t.match(out, `make    ${user.store}\nwrite   ${user.unit}\n`)
    const exec = ['--exec', 'true']
    t.match(
      user.install('--dry-run', '--store', user.store, ...exec).out,
      /no sandbox, because the command of --exec/,
    )
    const { sandbox, warnings } = JSON.parse(
      user.install('--dry-run', '--json', '--store', user.store).out,
    ) as {
      sandbox: unknown
      warnings: unknown[]
    }
    t.match([sandbox, warnings.length], [null, 1])
  },
)

t.test('install-service - CL-56 what fails midway leaves nothing behind', { skip }, async t => {
  const user = new User(t)
  for (const verb of ['daemon-reload', 'enable', 'restart']) {
    user.supervisor.refuse(verb)
    const { code, err } = user.install('--store', user.store, '--events-file', 'out/ev.ndjson')
    t.equal(code, 1, verb)
    t.match(
      err,
      new RegExp(
        `systemctl --user ${verb}.*failed: no ${verb} today; kim-producer.service was removed again\n`,
      ),
    )
    t.same(user.everything(), [], `${verb}: no unit, no directory`)
    user.supervisor.refuse(undefined)
    const undone = user.supervisor.calls().filter(call => /disable/.test(call))
    t.same(undone, ['systemctl --user disable --now kim-producer.service'], verb)
    t.match(user.service('--store', user.store), { status: 'warn', evidence: /is not installed/ })
  }
  user.path = join(user.home, 'none')
  const { code, err } = user.install('--store', user.store)
  t.equal(code, 1)
  t.match(err, /systemctl ENOENT; .* was removed again\n {2}print the unit with --print/)
  t.same(user.everything(), [], 'without a systemctl too')
})

t.test('install-service - CL-56 what fails midway leaves the service that was there', { skip }, async t => {
  const user = new User(t)
  t.equal(user.install('--store', user.store, '-p', 'river').code, 0)
  const before = readFileSync(user.unit, 'utf8')
  user.supervisor.calls()
  user.supervisor.refuse('enable')
  const { code, err } = user.install('--store', user.store, '-p', 'argus')
  t.equal(code, 1)
  t.match(err, /the previous kim-producer\.service was restored\n/)
  t.equal(readFileSync(user.unit, 'utf8'), before)
  t.same(user.supervisor.calls().slice(-2), [
    'systemctl --user daemon-reload',
    'systemctl --user restart kim-producer.service',
  ])
})

t.test('install-service - CL-56 without leave to linger it stands, and says so', { skip }, async t => {
  const user = new User(t)
  user.supervisor.refuse('enable-linger')
  const { code, err } = user.install('--store', user.store, '--linger')
  t.equal(code, 1)
  t.match(err, /the service is installed, but it ends when you log out\n {2}.*sudo loginctl enable-linger /)
  t.ok(existsSync(user.unit))
  t.notMatch(user.supervisor.calls().join(), /disable/)
})

t.test('install-service - CL-56 refuses what run refuses, and warns in the same words', { skip }, async t => {
  const user = new User(t)
  const token = join(user.home, 'token')
  const hosted = ['--dialect', 'hosted', '--token-file', token]
  for (const flags of [
    ['--url', 'http://127.0.0.1:9', '--dialect', 'local'],
    ['--url', 'http://127.0.0.1:9', '--allow-loopback'],
    ['--url', 'nonsense'],
    ['--url', 'http://127.0.0.1:9', '--allow-loopback', ...hosted],
    ['--auth-header', 'a b'],
  ]) {
    const run = user.run('run', '--store', user.store, ...flags)
    const install = user.install('--store', user.store, ...flags)
    t.equal(run.code, 2, run.err)
    t.same([install.code, install.err], [run.code, run.err])
  }
  t.same(user.everything(), [])
  const idle = ['--max-attempts', '3', '--heartbeat', '5', '--wait', '3', '--no-fast-path']
  const refusing = [...idle, '--url', 'nonsense']
  const said = user.run('run', '--store', user.store, ...refusing).err
  const warned = [...said.matchAll(/"code":"flag_ignored","msg":"([^"]*)"/g)].map(([, words = '']) => words)
  t.equal(warned.length, 3, said)
  const { code, err, out } = user.install('--store', user.store, '--json', ...idle)
  t.equal(code, 0, err)
  t.same((JSON.parse(out) as { warnings: unknown }).warnings, warned)
  t.same(
    err.trim().split('\n'),
    warned.map(words => `kim-producer: ${words}`),
  )
})

t.test(
  'install-service - CL-56 only looked at, a service that could not run is a warning',
  { skip },
  async t => {
    const user = new User(t)
    const flags = [
      '--url',
      'http://127.0.0.1:9',
      '--allow-loopback',
      '--dialect',
      'hosted',
      '--token-file',
      'token',
    ]
    const { code, err, out } = user.install('--print', '--store', user.store, ...flags)
    t.equal(code, 0)
    t.match(err, /would fail to start now: cannot read the token file .*token\n/)
    t.match(out, `--token-file=${join(user.home, 'token')}`)
    t.same(user.everything(), [])
  },
)

t.test('install-service - CL-57 a second service for one store is refused', { skip }, async t => {
  const user = new User(t)
  const link = join(user.home, 'link')
  mkdirSync(user.store, { mode: 0o700 })
  symlinkSync(user.store, link)
  t.equal(user.install('--store', user.store).code, 0)
  for (const store of [user.store, link, 'store/']) {
    const { code, err } = user.install('--name', 'two', '--store', store)
    t.equal(code, 2, store)
    t.match(err, /kim-producer\.service is already installed for .*\n.*kim-producer uninstall-service\)/)
    t.same(readdirSync(user.units), ['kim-producer.service'])
  }
  t.equal(user.install('--name', 'two', '--store', `${user.store}-2`).code, 0, 'another store')
  t.equal(user.install('--store', user.store).code, 0, 'the same one again')
  t.match(user.service('--store', user.store), {
    status: 'ok',
    evidence: /^kim-producer\.service is enabled/,
  })
  t.match(user.service('--store', `${user.store}-2`), {
    status: 'ok',
    evidence: /^kim-producer-two\.service is/,
  })
  t.match(user.service('--name', 'two'), { status: 'ok', evidence: /^kim-producer-two\.service is enabled/ })
  t.match(user.service('--store', `${user.store}-3`), {
    status: 'warn',
    evidence: `kim-producer.service is for ${user.store}: no service runs a producer on ${user.store}-3`,
  })
  const three = join(user.units, 'my own.service')
  writeFileSync(three, `[Service]\nExecStart=kim-producer run --store "${link}"\n`)
  t.match(user.service('--store', user.store), {
    status: 'fail',
    evidence: /kim-producer\.service and my own\.service run a producer/,
    remedy: /kim-producer uninstall-service, or remove .*my own\.service/,
  })
})

t.test('install-service - CL-57 the service of another store is not replaced', { skip }, async t => {
  const user = new User(t)
  t.equal(user.install('--store', user.store).code, 0)
  const before = readFileSync(user.unit, 'utf8')
  const other = `${user.store}-2`
  const { code, err } = user.install('--store', other)
  t.equal(code, 2)
  t.match(
    err,
    `kim-producer.service already runs a producer on ${user.store}\n  nothing was installed; give this service another name: --name NAME; or remove that one first: kim-producer uninstall-service\n`,
  )
  t.equal(readFileSync(user.unit, 'utf8'), before)
  t.equal(user.install('--store', other, '--name', 'two').code, 0)
  t.match(user.install('--store', user.store, '--name', 'two'), { code: 2 })
  t.equal(user.uninstall().code, 0)
  t.equal(user.install('--store', `${user.store}-3`).code, 0)
})

t.test(
  'install-service - CL-57 a store that a producer runs on by other means is refused',
  { skip },
  async t => {
    const user = new User(t)
    const journal = openJournal({ storeDir: user.store, source: 'http://localhost:7474' })
    t.teardown(() => journal.close())
    const held = user.install('--store', user.store)
    t.equal(held.code, 75)
    t.match(held.err, `process ${process.pid} already runs a producer on ${user.store}`)
    t.match(held.err, `kim-producer shutdown --store ${user.store}`)
    t.notOk(existsSync(user.unit))
    t.equal(user.install('--store', user.store, '--no-start').code, 0)
    t.equal(
      user.install('--store', user.store).code,
      0,
      'that may be the service itself, which is started again',
    )
  },
)

t.test('uninstall-service - CL-56 lists what was done, and what was not', { skip }, async t => {
  const user = new User(t)
  t.equal(user.install('--store', user.store).code, 0)
  user.supervisor.calls()
  const wants = join(user.units, 'default.target.wants')
  mkdirSync(wants)
  symlinkSync(user.unit, join(wants, 'kim-producer.service'))
  const plan = user.uninstall('--dry-run')
  t.match(plan.out, /^run {5}systemctl --user disable --now kim-producer\.service\nremove /)
  user.path = dirname(user.path)
  const { code, out } = user.uninstall()
  t.equal(code, 0)
  t.same(
    out.split('\n').map(line => line.replace(/:.*/, '')),
    [
      'refused systemctl --user disable --now kim-producer.service',
      `remove  ${join(wants, 'kim-producer.service')}`,
      `remove  ${user.unit}`,
      'refused systemctl --user daemon-reload',
      'kim-producer.service is removed, but systemd could not be reached; if its producer still runs',
      '',
    ],
  )
  t.same([existsSync(user.unit), readdirSync(wants)], [false, []])
  user.path = user.supervisor.path
  t.equal(user.install('--store', user.store).code, 0)
  const well = user.uninstall('--json')
  t.match(JSON.parse(well.out), {
    was_installed: true,
    steps: [{ do: 'run' }, { do: 'remove', path: user.unit }, { do: 'run' }],
  })
  t.notMatch(well.out, /refused/)
})

t.test('doctor - CL-57 a service that is installed, and that nothing starts', { skip }, async t => {
  const user = new User(t)
  t.equal(user.install('--store', user.store).code, 0)
  const look = (): ReturnType<User['service']> => user.service('--store', user.store)
  t.match(look(), {
    status: 'ok',
    evidence: /is enabled and active: it starts .*kim-producer\.js$/,
    remedy: null,
  })
  for (const [says, evidence, remedy] of [
    [
      { UnitFileState: 'disabled' },
      /not enabled \(disabled\)/,
      /systemctl --user enable --now kim-producer\.service/,
    ],
    [{ LoadState: 'bad-setting' }, /not loaded \(bad-setting\)/, /daemon-reload/],
    [{ NeedDaemonReload: 'yes' }, /changed after systemd read it/, /daemon-reload/],
    [
      { ActiveState: 'failed', Result: 'exit-code' },
      /failed \(exit-code\)/,
      /journalctl --user -u kim-producer\.service/,
    ],
    [{ ActiveState: 'inactive' }, /enabled, but does not run/, /systemctl --user start/],
  ] as const) {
    user.supervisor.says(says)
    t.match(look(), { status: 'warn', evidence, remedy })
  }
  user.path = join(user.home, 'none')
  t.match(look(), { status: 'warn', evidence: /not enabled \(no link\)/ }, 'no systemd to ask, and no link')
  mkdirSync(join(user.units, 'default.target.wants'))
  symlinkSync(user.unit, join(user.units, 'default.target.wants', 'kim-producer.service'))
  t.match(look(), { status: 'unknown', evidence: /is enabled, but systemd does not answer/ })
})
