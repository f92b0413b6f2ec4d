import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NF, row, type Scene } from '../../kit/kijito/index.js'

const producerBin = fileURLToPath(new URL('../../../../producer/bin/kim-producer.js', import.meta.url))
const skip = process.platform !== 'linux'

/** A `PATH` with a systemd that was seen to wall user units in. */
function walling(directory: string): string {
  mkdirSync(directory)
  const scripts = { systemctl: 'echo "systemd 252"', 'systemd-notify': 'exit 0', 'systemd-run': 'exit 7' }
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(directory, name), 0o755)
  }
  return directory
}

/** The values of a setting of the unit that these flags of `run` are installed as. */
function unitOf(scene: Scene, flags: readonly string[]): (setting: string) => string[] {
  const env = {
    PATH: walling(join(scene.home, 'bin')),
    HOME: scene.home,
    XDG_STATE_HOME: join(scene.home, 'state'),
  }
  const args = ['install-service', '--print', '--target', 'systemd-user', ...flags]
  const { stdout } = spawnSync(process.execPath, [producerBin, ...args], { encoding: 'utf8', env })
  return setting => [...stdout.matchAll(new RegExp(`^${setting}=(.*)$`, 'gm'))].map(([, value = '']) => value)
}

/** Every file below a directory. */
function filesIn(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => join(entry.parentPath, entry.name))
}

if (!skip)
  row('walls', 'CL-56 a unit that is walled in can write all that run writes', {}, async (t, scene) => {
    const store = join(scene.home, 'x'.repeat(60), 'y'.repeat(60))
    const token = join(scene.home, 'token')
    const runtime = join(scene.home, 'rt')
    mkdirSync(runtime, { mode: 0o700 })
    writeFileSync(token, 'tok\n', { mode: 0o600 })
    const events = join(scene.home, 'ev', '{persona}.ndjson')
    const sinks = ['--events-file-template', events, '--activity-file', join(scene.home, 'act', 'a.json')]
    const server = ['--url', scene.url, '--allow-loopback', '--dialect', 'hosted', '--token-file', token]
    const flags = ['--store', store, ...server, ...NF, ...sinks]
    const unit = unitOf(scene, flags)
    const before = new Set(filesIn(scene.home))
    const state = unit('Environment').find(value => value.startsWith('XDG_STATE_HOME='))
    t.equal(state, `XDG_STATE_HOME=${join(scene.home, 'state')}`, 'the watermarks stay where they are')
    const producer = scene.run(['run', ...flags], { XDG_RUNTIME_DIR: runtime })
    const file = events.replace('{persona}', 'argus')
    await scene.until('it is armed', () => existsSync(file) && readFileSync(file, 'utf8').includes('armed'))
    scene.send('argus')
    await scene.until('it is announced', () => readFileSync(file, 'utf8').includes('"new"'))
    const parts = ['/run/health.json', '/ev/argus.ndjson', '/act/a.json', '/sinks/', '/control.sock']
    const newFiles = (): string[] => filesIn(scene.home).filter(path => !before.has(path))
    await scene.until('all of it is written', () => {
      const paths = newFiles()
      return parts.every(part => paths.some(path => path.includes(part)))
    })
    const written = newFiles()
    await producer.stop()
    const writable = [...unit('ReadWritePaths'), ...unit('RuntimeDirectory').map(name => join(runtime, name))]
    t.same(
      written.filter(path => !writable.some(directory => path.startsWith(`${directory}/`))),
      [],
    )
  })
