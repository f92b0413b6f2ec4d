import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { didYouMean, type StoreLocation, safeText } from '@kim/cli-kit'
import { KimError, parseSegmentName, storePaths } from '@kim/manifest'
import { listEntries } from '@kim/observer-sdk/history'

/** There is no journal where one was looked for: says what stands there instead, or what it may have been meant for. */
export function noStore(location: StoreLocation): KimError {
  const { eventsDir, storeDir } = location
  const asked = storeDir ?? eventsDir
  return new KimError('no_store', `there is no journal at ${safeText(asked)}`, {
    hint: storeHint(asked, storeDir !== undefined),
  })
}

function storeHint(asked: string, isStore: boolean): string {
  if (isStore && namesOf(asked).some(name => parseSegmentName(name) !== undefined)) {
    return `this is an events directory, so use: --events ${safeText(asked)}`
  }
  if (!isStore && existsSync(storePaths(asked).events))
    return `this is a store, so use: --store ${safeText(asked)}`
  const parent = dirname(asked)
  const siblings = namesOf(parent).filter(
    name => !isStore || existsSync(storePaths(join(parent, name)).events),
  )
  const close = didYouMean(basename(asked), siblings, `${parent}/`).replace(/^; /, '')
  if (close !== '') return safeText(close)
  const name = 'with --store DIR or $KIM_STORE'
  return isStore ? `create it with: kim-producer run; or name another store ${name}` : `name a store ${name}`
}

/** A persona that nothing in the journal is about. */
export function noPersona(name: string, known: Iterable<string>): KimError {
  const names = [...known].sort()
  const listed = names.slice(0, 12).map(safeText).join(', ')
  return new KimError('no_persona', `no persona "${safeText(name)}"${safeText(didYouMean(name, names))}`, {
    hint:
      names.length === 0
        ? 'the journal has no persona yet'
        : `known: ${listed}${names.length > 12 ? ', …' : ''}`,
  })
}

function namesOf(directory: string): readonly string[] {
  const listed = listEntries(directory)
  return listed.ok ? listed.value.map(({ name }) => name) : []
}
