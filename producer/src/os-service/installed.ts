import { readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { defaultStore, type Environment } from '@kim/manifest'
import { commandInFile } from './service-file.js'
import type { ServicePlace } from './target.js'

/** A service of this user that runs a producer. */
export interface Installed extends ServicePlace {
  /** What it starts, a word each. */
  readonly command: readonly string[]
  /** The store that it runs on, absolute. */
  readonly storeDir: string
  /** What takes it away. */
  readonly removal: string
}

/** Every service that stands where `place` does and runs a producer, under whichever name. */
export function installedServices(place: ServicePlace, env: Environment, home: string): Installed[] {
  const directory = dirname(place.file)
  return namesIn(directory)
    .filter(name => extname(name) === extname(place.file))
    .flatMap(name => {
      const file = join(directory, name)
      const command = commandInFile(file) ?? []
      const at = command.findIndex(word => /^kim-producer(\.js)?$/.test(basename(word)))
      if (at === -1 || command[at + 1] !== 'run') return []
      const storeDir = storeIn(command.slice(at + 2)) ?? defaultStore(env, home)
      return [{ ...known(place, file), file, command, storeDir: resolve(storeDir) }]
    })
}

/** Those of them on one store, by what stands there and not by how it is spelled. */
export function servicesOn(storeDir: string, all: readonly Installed[]): Installed[] {
  const store = realpathOf(storeDir)
  return all.filter(one => realpathOf(one.storeDir) === store)
}

function known({ target }: ServicePlace, file: string): Pick<Installed, 'target' | 'name' | 'removal'> {
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

/** What does not stand yet has no other name than its own. */
function realpathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}
