import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { install, installSteps } from '../../dist/os-service/install.js'
import { serviceHealthOf } from '../../dist/os-service/installed-services.js'
import { type Runner, servicePlace } from '../../dist/os-service/supervisors.js'
import type { InstallContext, ServiceSpec } from '../../dist/os-service/unit-text.js'

/** A supervisor that refuses one verb, and what it was told to do. */
function refusing(verb: string): { readonly run: Runner; readonly told: string[] } {
  const told: string[] = []
  const run: Runner = command => {
    told.push(command.join(' '))
    return { status: command.includes(verb) ? 1 : 0, output: '' }
  }
  return { run, told }
}

const targets = [
  {
    target: 'launchd',
    verb: 'bootstrap',
    fresh: ['launchctl bootout gui/1000/kim.producer'],
    again: [
      'launchctl bootout gui/1000/kim.producer',
      /^launchctl bootstrap gui\/1000 .*kim\.producer\.plist$/,
    ],
    question: 'launchctl print gui/1000/kim.producer',
  },
  {
    target: 'windows-task',
    verb: '/Run',
    fresh: ['schtasks /End /TN \\KIM\\producer', 'schtasks /Delete /TN \\KIM\\producer /F'],
    again: [/^schtasks \/Create \/TN \\KIM\\producer \/XML .* \/F$/],
    question: 'schtasks /Query /TN \\KIM\\producer',
  },
] as const

for (const { target, verb, fresh, again, question } of targets) {
  t.test(`install - CL-56 of ${target} is done or undone`, async t => {
    const home = t.testdir()
    const place = servicePlace(target, undefined, { LOCALAPPDATA: join(home, 'local') }, home)
    const spec: ServiceSpec = {
      instance: undefined,
      node: '/opt/node/bin/node',
      nodeOptions: [],
      script: '/opt/kim/bin/kim-producer.js',
      args: ['run', `--store=${home}/store`],
      storeDir: join(home, 'store'),
      writes: [],
      stateHome: '/srv/river/.local/state',
      runtimeDirectory: undefined,
    }
    const around: InstallContext = {
      user: 'river',
      uid: 1000,
      logFile: join(home, 'logs', 'producer.log'),
      systemd: { version: 0, notify: false, sandbox: false },
    }
    const steps = installSteps(place, spec, around, { start: true, linger: false })
    const first = refusing(verb)
    t.throws(() => install(place, steps, 1000, first.run), {
      code: 'service_failed',
      message: /failed: exit 1; \S+ was removed again$/,
    })
    t.same(first.told.slice(-fresh.length), fresh)
    t.same([existsSync(place.file), existsSync(spec.storeDir)], [false, false])

    mkdirSync(dirname(place.file), { recursive: true })
    writeFileSync(place.file, 'before')
    const second = refusing(verb)
    t.throws(() => install(place, steps, 1000, second.run), { message: /the previous \S+ was restored$/ })
    t.equal(second.told[0], question)
    t.match(second.told.slice(-again.length), again)
    t.equal(readFileSync(place.file, 'utf8'), 'before')

    const third = refusing('')
    t.doesNotThrow(() => install(place, steps, 1000, third.run))
    t.not(readFileSync(place.file, 'utf8'), 'before')
  })

  t.test(`standing - CL-57 of ${target}: loaded, not loaded, no supervisor to ask`, async t => {
    const place = servicePlace(target, undefined, { LOCALAPPDATA: t.testdirName }, t.testdirName)
    const answering =
      (status: number | null): Runner =>
      command => {
        t.equal(command.join(' '), question)
        return { status, output: 'x' }
      }
    t.match(serviceHealthOf(place, 1000, answering(0)), { isWell: true })
    t.match(serviceHealthOf(place, 1000, answering(3)), { isWell: false, remedy: place.file })
    t.match(serviceHealthOf(place, 1000, answering(null)), { isWell: undefined })
  })
}
