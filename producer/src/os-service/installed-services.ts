import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { defaultStore, type Environment } from '@kim/manifest'
import { resolveExisting } from '../effects/system.js'
import type { Runner, ServicePlace } from './supervisors.js'

/** A service of this user that runs a producer. */
export interface Installed extends ServicePlace {
  /** The words of its command line. */
  readonly command: readonly string[]
  /** The store that it runs on, absolute. */
  readonly storeDir: string
  /** The command that removes it. */
  readonly removal: string
}

/** Every service in the directory of `place` that runs a producer, under any name. */
export function installedServices(place: ServicePlace, env: Environment, home: string): Installed[] {
  const directory = dirname(place.file)
  return namesIn(directory)
    .filter(name => extname(name) === extname(place.file))
    .flatMap(name => {
      const file = join(directory, name)
      const command = commandInFile(file) ?? []
      const at = command.findIndex(word => /^kim-producer(\.js)?$/.test(basename(word)))
      if (at === -1 || command[at + 1] !== 'run') return []
      const storeDir = resolve(storeIn(command.slice(at + 2)) ?? defaultStore(env, home))
      return [{ ...identified(place, file), file, command, storeDir }]
    })
}

/** Those of them on one store, however its path is spelled. */
export function servicesOn(storeDir: string, all: readonly Installed[]): Installed[] {
  const store = resolveExisting(resolve(storeDir))
  return all.filter(one => resolveExisting(one.storeDir) === store)
}

function identified({ target }: ServicePlace, file: string): Pick<Installed, 'target' | 'name' | 'removal'> {
  const stem = basename(file, extname(file))
  const name = { 'systemd-user': basename(file), launchd: stem, 'windows-task': `\\KIM\\${stem}` }[target]
  const ours = /^(?:kim[-.])?producer(?:[-.](.+))?$/.exec(stem)
  if (ours === null) return { target, name, removal: `remove ${file}` }
  const named = ours[1] === undefined ? '' : ` --name ${ours[1]}`
  return { target, name, removal: `kim-producer uninstall-service${named}` }
}

function storeIn(flags: readonly string[]): string | undefined {
  const at = flags.findIndex(word => word === '--store' || word.startsWith('--store='))
  return flags[at] === '--store' ? flags[at + 1] : flags[at]?.slice('--store='.length)
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort()
  } catch {
    return []
  }
}

const WORD = /"((?:\\.|[^"\\])*)"|(\S+)/g
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/** The command line in a service's file, of any supervisor; undefined if the file cannot be read. */
export function commandInFile(path: string): string[] | undefined {
  try {
    // The supervisor follows links, and reading a pipe would wait for ever.
    if (!statSync(path).isFile()) return undefined
    const bytes = readFileSync(path)
    const isWide = bytes[0] === 0xff && bytes[1] === 0xfe
    return commandIn(bytes.toString(isWide ? 'utf16le' : 'utf8'))
  } catch {
    return undefined
  }
}

function commandIn(text: string): string[] {
  const line = /^ExecStart=(.*)$/m.exec(text)?.[1]
  if (line !== undefined)
    return [...line.matchAll(WORD)].map(([, quoted, plain]) => systemdWord(quoted, plain))
  const list = /<key>ProgramArguments<\/key>\s*<array>([\s\S]*?)<\/array>/.exec(text)?.[1]
  if (list !== undefined) {
    const words = list.matchAll(/<string>([\s\S]*?)<\/string>|<string\/>/g)
    return [...words].map(([, word = '']) => plainText(word))
  }
  const command = /<Command>([\s\S]*?)<\/Command>/.exec(text)?.[1]
  if (command === undefined) return []
  const rest = plainText(/<Arguments>([\s\S]*?)<\/Arguments>/.exec(text)?.[1] ?? '')
  return [
    plainText(command),
    ...[...rest.matchAll(WORD)].map(([, quoted, plain]) => windowsWord(quoted, plain)),
  ]
}

function systemdWord(quoted: string | undefined, plain = ''): string {
  const text = quoted?.replaceAll(/\\(.)/g, (_, letter: string) => CONTROLS[letter] ?? letter) ?? plain
  return text.replaceAll('%%', '%').replaceAll('$$', '$')
}

/** Backslashes count only before a quotation mark; the closing one is one too. */
function windowsWord(quoted: string | undefined, plain = ''): string {
  const text = quoted?.replaceAll(
    /(\\+)("|$)/g,
    (_, slashes: string, mark: string) => '\\'.repeat(Math.floor(slashes.length / 2)) + mark,
  )
  return text ?? plain
}

function plainText(xml: string): string {
  return xml
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&#13;', '\r')
    .replaceAll('&amp;', '&')
}

/** What a supervisor says about a service. */
interface ServiceHealth {
  /** Undefined if the supervisor does not answer and nothing else shows it. */
  readonly isWell: boolean | undefined
  /** The rest of a sentence that begins with the service's name. */
  readonly words: string
  readonly remedy?: string
}

/** Asks the supervisor, because a file alone starts nothing. */
export function serviceHealthOf(place: ServicePlace, uid: number, run: Runner): ServiceHealth {
  if (place.target === 'systemd-user') return systemdHealth(place, run)
  const { name, file } = place
  const [question, remedy] =
    place.target === 'launchd'
      ? [['launchctl', 'print', `gui/${uid}/${name}`], `launchctl bootstrap gui/${uid} ${file}`]
      : [['schtasks', '/Query', '/TN', name], `schtasks /Create /TN ${name} /XML ${file} /F`]
  const { status, output } = run(question)
  if (status === 0) return { isWell: true, words: 'is loaded' }
  if (status === null) return { isWell: undefined, words: `has an unknown state: ${output}` }
  return ill('has a file, but the supervisor has not loaded it and does not start it', remedy)
}

function ill(words: string, remedy: string): ServiceHealth {
  return { isWell: false, words, remedy }
}

const PROPERTIES = ['LoadState', 'UnitFileState', 'ActiveState', 'NeedDaemonReload', 'Result']

function systemdHealth({ name, file }: ServicePlace, run: Runner): ServiceHealth {
  const { status, output } = run(['systemctl', '--user', 'show', name, `--property=${PROPERTIES.join(',')}`])
  if (status !== 0) {
    // Enabling a unit makes a link, which shows even if systemd does not answer.
    const link = join(dirname(file), 'default.target.wants', name)
    if (lstatSync(link, { throwIfNoEntry: false }) === undefined) return disabled(name, 'no link')
    return { isWell: undefined, words: `is enabled, but systemd does not answer: ${output}` }
  }
  const of = (property: string): string => new RegExp(`^${property}=(.*)$`, 'm').exec(output)?.[1] ?? ''
  const reload = 'systemctl --user daemon-reload && systemctl --user'
  if (of('LoadState') !== 'loaded')
    return ill(
      `is not loaded (${of('LoadState')}): systemd does not start it`,
      `${reload} enable --now ${name}`,
    )
  if (of('UnitFileState') !== 'enabled') return disabled(name, of('UnitFileState'))
  if (of('NeedDaemonReload') === 'yes')
    return ill('was changed after systemd read it', `${reload} restart ${name}`)
  const state = of('ActiveState')
  if (state === 'failed')
    return ill(
      `failed (${of('Result')}) and is not restarted`,
      `read its log: journalctl --user -u ${name} -e; then: systemctl --user restart ${name}`,
    )
  if (state === 'inactive') return ill('is enabled, but does not run', `systemctl --user start ${name}`)
  return { isWell: true, words: `is enabled and ${state}` }
}

function disabled(name: string, state: string): ServiceHealth {
  return ill(
    `is installed, but not enabled (${state}): systemd does not start it after a crash or a login`,
    `systemctl --user enable --now ${name}; or run kim-producer install-service again with the same flags`,
  )
}
