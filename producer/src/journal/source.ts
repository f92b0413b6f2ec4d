import { shellWord } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { failure } from './failure.js'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** One text for every spelling of a base URL: what a store's genesis note names. */
export function canonicalSource(url: string): string {
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch (cause) {
    throw new KimError('config_invalid', `${JSON.stringify(url)} is not a URL`, { cause })
  }
  const host = LOOPBACK.has(parsed.hostname) ? 'localhost' : parsed.hostname
  const port = parsed.port === '' ? '' : `:${parsed.port}`
  return `${parsed.protocol}//${host}${port}${parsed.pathname.replace(/\/+$/, '')}`
}

/** Refuses to mix two sources in one store. */
export function checkSource(store: string, recorded: string, given: string): void {
  if (canonicalSource(recorded) === canonicalSource(given)) return
  throw failure(
    'source_mismatch',
    `the store ${store} belongs to ${canonicalSource(recorded)}, not to ${canonicalSource(given)}`,
    `nothing was appended; ${sourceRemedy(store, recorded, given)}`,
  )
}

/** The ways out where a store belongs to another source. Which it is stands in its first record and never changes (JF-10). */
export function sourceRemedy(store: string, recorded: string, given: string): string {
  const [theirs, ours] = [canonicalSource(recorded), canonicalSource(given)]
  const aside = `mv ${shellWord(store)} ${shellWord(`${store}.old`)}`
  return `to follow that server: --url ${theirs} (with its other flags); to follow ${ours} too: another store with --store DIR; to replace the store, stop its producer, then: ${aside}`
}
