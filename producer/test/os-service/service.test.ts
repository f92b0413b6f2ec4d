import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ownScript } from '../../dist/cli/install-service.js'
import { installSteps, perform, uninstallSteps } from '../../dist/os-service/install.js'
import { commandInFile } from '../../dist/os-service/installed-services.js'
import { probeSystemd, type Runner, servicePlace, targetOf } from '../../dist/os-service/supervisors.js'
import {
  type InstallContext,
  type ServiceSpec,
  serviceText,
  systemdUnit,
  windowsTask,
  windowsTaskBytes,
} from '../../dist/os-service/unit-text.js'

const spec: ServiceSpec = {
  instance: undefined,
  node: '/opt/node/bin/node',
  nodeOptions: [],
  script: '/opt/kim/bin/kim-producer.js',
  args: ['run', '--store=/srv/river/store', '--persona=river'],
  storeDir: '/srv/river/store',
  writes: ['/srv/river/events'],
  stateHome: '/srv/river/.local/state',
  runtimeDirectory: undefined,
}
/** Words that a careless quoting would take apart, expand or end the line with. */
const HOSTILE = [
  'a b',
  '',
  '"',
  "'",
  '\\',
  '%h',
  '$HOME',
  '$' + '{X}',
  'x\ny=z',
  ';',
  '#',
  '<&>',
  'ü😀',
  '-p',
  '*',
]
const hostile: ServiceSpec = { ...spec, args: ['run', ...HOSTILE] }
const features = { version: 252, notify: true, sandbox: false }
const around: InstallContext = {
  user: 'river',
  uid: 1000,
  logFile: '/srv/river/Library/Logs/KIM/producer.log',
  systemd: features,
}

function settings(unit: string, name: string): string[] {
  return unit
    .split('\n')
    .filter(line => line.startsWith(`${name}=`))
    .map(line => line.slice(name.length + 1))
}

t.test('systemd - CL-18 starts again after a failure, not after what starting again cannot mend', async t => {
  const unit = systemdUnit(spec, features)
  t.same(settings(unit, 'Restart'), ['on-failure'])
  t.same(settings(unit, 'RestartPreventExitStatus'), ['2 77'])
  t.same(settings(unit, 'RestartSec'), ['1'])
  t.same(settings(unit, 'StartLimitIntervalSec'), ['0'], 'it never gives up')
  t.same(settings(unit, 'ExecStart'), [
    '/opt/node/bin/node /opt/kim/bin/kim-producer.js run --store=/srv/river/store --persona=river',
  ])
})

t.test('systemd - says only what this systemd knows and was seen to do', async t => {
  t.same(settings(systemdUnit(spec, features), 'Type'), ['notify'])
  t.same(settings(systemdUnit(spec, { ...features, notify: false }), 'Type'), ['exec'])
  t.same(settings(systemdUnit(spec, { ...features, notify: false }), 'WatchdogSec'), [])
  t.same(settings(systemdUnit(spec, features), 'RestartSteps'), [])
  t.same(settings(systemdUnit(spec, { ...features, version: 254 }), 'RestartSteps'), ['6'])
  t.same(settings(systemdUnit(spec, features), 'ProtectSystem'), [])
  const walled = systemdUnit(spec, { ...features, sandbox: true })
  t.same(settings(walled, 'ProtectSystem'), ['strict'])
  t.same(settings(walled, 'ReadWritePaths'), ['/srv/river/store', '/srv/river/events'])
  t.same(settings(walled, 'PrivateTmp'), ['yes'])
})

t.test('perform - CL-56 the error for a unit that did not start says how its process ended', async t => {
  const step = { kind: 'run', command: ['systemctl', '--user', 'restart', 'kim-producer.service'] } as const
  const ended = (status: string): Runner => {
    return ([, , verb]) =>
      verb === 'show' ? { status: 0, output: `ExecMainStatus=${status}` } : { status: 1, output: 'no' }
  }
  t.throws(() => perform(step, ended('226')), {
    message: '`systemctl --user restart kim-producer.service` failed: no (its process ended with 226)',
    hint: /read its log: journalctl --user -u kim-producer.service -e.*kim-producer run/,
  })
  t.throws(() => perform(step, ended('0')), { message: / failed: no$/ }, 'it never ran')
})

t.test('systemd - CL-56 a unit of which something lies in /tmp gets no /tmp of its own', async t => {
  const walls = { ...features, sandbox: true }
  const inTmp: Partial<ServiceSpec>[] = [
    { node: '/tmp/node' },
    { script: '/tmp/kim/producer/bin/kim-producer.js' },
    { storeDir: '/var/tmp/store' },
    { writes: ['/srv/river/events', '/tmp/sinks'] },
    { stateHome: '/tmp/state' },
    { args: ['run', '--token-file=/tmp/token'] },
  ]
  for (const change of inTmp) {
    const unit = systemdUnit({ ...spec, ...change }, walls)
    t.same(settings(unit, 'PrivateTmp'), [], JSON.stringify(change))
    t.same(settings(unit, 'ProtectSystem'), ['strict'], 'the other walls stand')
  }
  for (const near of ['/tmpfs/store', '/srv/tmp/store', '/var/tmpx'])
    t.same(settings(systemdUnit({ ...spec, storeDir: near }, walls), 'PrivateTmp'), ['yes'], near)
})

t.test('systemd - a word stays one word, whatever is in it', async t => {
  const [command = ''] = settings(systemdUnit(hostile, features), 'ExecStart')
  t.equal(
    command,
    '/opt/node/bin/node /opt/kim/bin/kim-producer.js run "a b" "" "\\"" "\'" "\\\\" %%h $$HOME "$${X}" ' +
      '"x\\ny=z" ";" "#" "<&>" "ü😀" -p "*"',
  )
})

t.test('systemd - CL-56 a path stays that path, whatever is in it', async t => {
  const path = '/srv/a b/%h/$HOME'
  const unit = systemdUnit({ ...spec, writes: [path], stateHome: path }, { ...features, sandbox: true })
  t.same(settings(unit, 'ReadWritePaths').slice(1), ['"/srv/a b/%%h/$HOME"'], 'no variable is expanded there')
  t.same(settings(unit, 'Environment'), ['"XDG_STATE_HOME=/srv/a b/%%h/$HOME"'])
})

const noAnalyze = spawnSync('systemd-analyze', ['--version']).status !== 0 && 'systemd-analyze is not here'

t.test('systemd - systemd itself takes the unit', { skip: noAnalyze }, async t => {
  const variants = {
    plain: systemdUnit(
      { ...spec, node: process.execPath, script: '/dev/null' },
      { ...features, notify: false },
    ),
    full: systemdUnit(
      { ...spec, node: process.execPath, script: '/dev/null' },
      { ...features, sandbox: true },
    ),
    hostile: systemdUnit({ ...hostile, node: process.execPath, script: '/dev/null' }, features),
  }
  for (const [name, unit] of Object.entries(variants)) {
    const file = join(t.testdir(), `kim-${name}.service`)
    writeFileSync(file, unit)
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--user', '--man=no', file], {
      encoding: 'utf8',
      env: { ...process.env, XDG_RUNTIME_DIR: t.testdirName },
    })
    const complaints = stderr.split('\n').filter(line => line.includes(`kim-${name}`))
    t.same(complaints, [], name)
    t.equal(status, 0, `${name}: ${stderr}`)
  }
})

/** The keys of launchd.plist(5) that we use, and the types it gives them. */
const LAUNCHD_KEYS: Readonly<Record<string, string>> = {
  Label: 'string',
  ProgramArguments: 'array',
  EnvironmentVariables: 'dict',
  RunAtLoad: 'boolean',
  KeepAlive: 'dict',
  ThrottleInterval: 'integer',
  ExitTimeOut: 'integer',
  ProcessType: 'string',
  Umask: 'integer',
  StandardOutPath: 'string',
  StandardErrorPath: 'string',
}

t.test('launchd - every key has the type that launchd.plist(5) gives it', async t => {
  const text = serviceText('launchd', hostile, around)
  const top = [...text.matchAll(/^ {2}<key>(\w+)<\/key>\n {2}<(\w+)/gm)]
  const types = Object.fromEntries(
    top.map(([, key = '', tag = '']) => [key, tag === 'true' || tag === 'false' ? 'boolean' : tag]),
  )
  t.same(types, LAUNCHD_KEYS)
})

const noPlistutil = spawnSync('plistutil', ['--version']).error !== undefined && 'plistutil is not here'

t.test('launchd - another reader gets each word as it was', { skip: noPlistutil }, async t => {
  const text = serviceText('launchd', hostile, around)
  const file = join(t.testdir(), 'kim.plist')
  writeFileSync(file, text)
  const binary = `${file}.bin`
  const packed = spawnSync('plistutil', ['-i', file, '-f', 'bin', '-o', binary], { encoding: 'utf8' })
  t.equal(packed.status, 0, packed.stderr)
  const { stdout } = spawnSync('plistutil', ['-i', binary, '-f', 'xml'], { encoding: 'utf8' })
  t.same(
    [...stdout.matchAll(/^\t<key>(\w+)/gm)].map(([, key]) => key).sort(),
    Object.keys(LAUNCHD_KEYS).sort(),
  )
  const list = /<key>ProgramArguments<\/key>\s*<array>([\s\S]*?)<\/array>/.exec(stdout)?.[1] ?? ''
  const words = [...list.matchAll(/<string>([\s\S]*?)<\/string>|<string\/>/g)].map(([, text = '']) =>
    text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
  )
  t.same(words, [spec.node, spec.script, 'run', ...HOSTILE], 'each word as it was')
})

t.test('launchd - what XML cannot hold is refused, not lost', async t => {
  const bad = { ...spec, args: ['run', '--persona=a\u0001b'] }
  t.throws(() => serviceText('launchd', bad, around), { code: 'config_invalid' })
})

t.test('files - CL-57 of every supervisor give back each word that they start', async t => {
  const words = ['run', ...HOSTILE, 'c"d', 'e f\\', 'g\\"h', '%%', '$$']
  for (const target of ['systemd-user', 'launchd', 'windows-task'] as const) {
    const text = serviceText(target, { ...spec, args: words }, around)
    const file = join(t.testdir(), target)
    writeFileSync(file, target === 'windows-task' ? windowsTaskBytes(text) : text)
    t.same(commandInFile(file), [spec.node, spec.script, ...words], target)
  }
  t.equal(commandInFile(join(t.testdirName, 'none')), undefined)
})

t.test('windows - every setting whose default would end the service is written out', async t => {
  const xml = windowsTask(spec, 'HOST\\river')
  for (const [tag, value] of Object.entries({
    ExecutionTimeLimit: 'PT0S',
    DisallowStartIfOnBatteries: 'false',
    StopIfGoingOnBatteries: 'false',
    MultipleInstancesPolicy: 'IgnoreNew',
    StartWhenAvailable: 'true',
    RunLevel: 'LeastPrivilege',
    Interval: 'PT1M',
    Count: '255',
    UserId: 'HOST\\river',
    StopOnIdleEnd: 'false',
  })) {
    t.ok(xml.includes(`<${tag}>${value}</${tag}>`), tag)
  }
  t.match(xml, /<LogonTrigger>/)
  const bytes = windowsTaskBytes(xml)
  t.same([...bytes.subarray(0, 4)], [0xff, 0xfe, 0x3c, 0x00], 'UTF-16 with its mark')
  t.equal(bytes.toString('utf16le').slice(1), xml)
})

t.test('windows - arguments come back as they were', async t => {
  const xml = windowsTask({ ...spec, args: ['run', 'a b', 'c"d', 'e f\\', 'g\\"h', ''] }, 'river')
  const line = /<Arguments>(.*)<\/Arguments>/.exec(xml)?.[1]
  t.equal(
    line,
    '/opt/kim/bin/kim-producer.js run "a b" "c\\"d" "e f\\\\" "g\\\\\\"h" ""',
    'as CommandLineToArgvW takes them apart',
  )
})

t.test('steps - each supervisor gets its own commands, and twice is as once', async t => {
  const env = { XDG_CONFIG_HOME: '/srv/river/.config', LOCALAPPDATA: 'C:/local' }
  const commands = (
    target: 'systemd-user' | 'launchd' | 'windows-task',
    start = true,
    linger = false,
  ): string[] => {
    const place = servicePlace(target, 'two', env, '/srv/river')
    return installSteps(place, { ...spec, instance: 'two' }, around, { start, linger }).flatMap(step =>
      step.kind === 'run' ? [step.command.join(' ')] : [],
    )
  }
  t.same(commands('systemd-user', true, true), [
    'systemctl --user daemon-reload',
    'systemctl --user enable kim-producer-two.service',
    'systemctl --user restart kim-producer-two.service',
    'loginctl enable-linger river',
  ])
  t.same(commands('systemd-user', false), [
    'systemctl --user daemon-reload',
    'systemctl --user enable kim-producer-two.service',
  ])
  t.same(commands('launchd'), [
    'launchctl bootout gui/1000/kim.producer.two',
    'launchctl bootstrap gui/1000 /srv/river/Library/LaunchAgents/kim.producer.two.plist',
  ])
  t.match(
    commands('windows-task')[0],
    /^schtasks \/Create \/TN \\KIM\\producer-two \/XML .*producer-two\.xml \/F$/,
  )
  const gone = uninstallSteps(servicePlace('systemd-user', undefined, env, '/srv/river'), 1000)
  t.same(
    gone.map(({ kind }) => kind),
    ['run', 'remove', 'run'],
  )
  t.equal(targetOf('darwin'), 'launchd')
  t.throws(() => targetOf('plan9'), { code: 'config_invalid' })
})

t.test('perform - files are private and whole, and the first refusal ends it', async t => {
  const dir = t.testdir()
  const never: Runner = () => ({ status: 1, output: 'no bus' })
  const path = join(dir, 'a', 'unit')
  mkdirSync(join(dir, 'a'))
  writeFileSync(path, 'old')
  perform({ kind: 'write', path, bytes: Buffer.from('x') }, never)
  t.equal(readFileSync(path, 'utf8'), 'x')
  t.equal(statSync(path).mode & 0o777, 0o600)
  perform({ kind: 'directory', path: join(dir, 'b') }, never)
  t.equal(statSync(join(dir, 'b')).mode & 0o777, 0o700)
  t.throws(() => perform({ kind: 'run', command: ['systemctl', 'x'] }, never), {
    code: 'service_failed',
    message: '`systemctl x` failed: no bus',
  })
  const noBus: Runner = () => ({ status: 1, output: 'Failed to connect to bus: No medium found' })
  t.throws(() => perform({ kind: 'run', command: ['systemctl', 'x'] }, noBus), {
    code: 'service_failed',
    hint: 'this login session has no systemd: log in directly as the user (not with su or sudo), or print the unit for another supervisor: --print',
  })
  t.doesNotThrow(() => perform({ kind: 'run', command: ['x'], mayFail: true }, never))
  perform({ kind: 'remove', path }, never)
  perform({ kind: 'remove', path }, never)
})

t.test('probe - walls count only if a write was seen to fail behind them', async t => {
  const answering =
    (walled: number | null): Runner =>
    ([file]) => {
      if (file === 'systemd-run') return { status: walled, output: '' }
      return { status: 0, output: 'systemd 256 (256.4)' }
    }
  t.same(probeSystemd(answering(7), '/srv/river'), { version: 256, notify: true, sandbox: true })
  for (const status of [0, 1, 9, 226]) {
    t.same(
      probeSystemd(answering(status), '/srv/river'),
      { version: 256, notify: true, sandbox: false },
      `${status}`,
    )
  }
  const unreached = (status: number | null, output: string): Runner => {
    const other = answering(0)
    return command => (command[0] === 'systemd-run' ? { status, output } : other(command))
  }
  for (const [status, output] of [
    [1, 'Failed to connect to bus: No medium found'],
    [null, 'spawnSync systemd-run ENOENT'],
  ] as const) {
    t.match(probeSystemd(unreached(status, output), '/srv/river'), { sandbox: false, untried: output })
  }
})

t.test('systemd - a home in /tmp is not hidden from the attempt to write there', async t => {
  const asked: string[] = []
  const run: Runner = command => {
    if (command[0] === 'systemd-run') asked.push(command.join(' '))
    return { status: 7, output: 'systemd 252' }
  }
  probeSystemd(run, '/srv/river')
  probeSystemd(run, '/tmp/river')
  t.same(
    asked.map(command => command.includes('PrivateTmp=yes')),
    [true, false],
  )
})

t.test('script - one that is about to be cleared away is refused', async t => {
  const kept = join('srv', 'node_modules', '@kim', 'producer', 'bin', 'kim-producer.js')
  t.equal(ownScript(kept), kept)
  t.throws(() => ownScript(join('srv', '.npm', '_npx', '1f', kept)), { code: 'usage' })
})
