import { isIP } from 'node:net'
import { KimError } from '@kim/manifest'
import { classOfAddress } from './address.js'
import type { Dialect } from './answer.js'

/** Where a server is. */
export interface BaseUrl {
  /** Scheme, host and port, in one spelling. */
  readonly base: string
  readonly isSecure: boolean
  /** A name or an address, the latter without brackets. */
  readonly host: string
  readonly port: number
  /** What the `Host` header says. */
  readonly authority: string
  /** One of the three spellings of the local daemon, which need no flag (KS-81). */
  readonly isLocalDaemon: boolean
}

const HOSTED = 'https://api.kijito.ai'
const LOCAL = new Set(['http://localhost:7474', 'http://127.0.0.1:7474', 'http://[::1]:7474'])

function unusable(url: string, why: string): KimError {
  // A URL with an @ may hold a password, and an error is no place for it.
  const named = url.includes('@') ? 'the URL' : JSON.stringify(url)
  return new KimError('usage', `--url: ${named} ${why}`, {
    hint: `use a base URL such as http://localhost:7474 or ${HOSTED}`,
  })
}

/** Reads `--url`: scheme, host and port, and nothing else (KS-80). */
export function parseBaseUrl(url: string): BaseUrl {
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    throw unusable(url, 'is not a URL')
  }
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')
    throw unusable(url, 'is neither http nor https')
  // What a bare origin prints is the one text that has no credentials, path, query or fragment.
  if (parsed.href !== `${parsed.origin}/`) throw unusable(url, 'holds more than scheme, host and port')
  const isSecure = parsed.protocol === 'https:'
  const hostname = parsed.hostname.replace(/\.$/, '')
  if (hostname === '') throw unusable(url, 'names no host')
  const authority = parsed.port === '' ? hostname : `${hostname}:${parsed.port}`
  const base = `${parsed.protocol}//${authority}`
  return {
    base,
    isSecure,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: parsed.port === '' ? (isSecure ? 443 : 80) : Number(parsed.port),
    authority,
    isLocalDaemon: LOCAL.has(base),
  }
}

/** What would be the next refusal of such an address, so that it need not come one by one. */
function alsoNeeded(host: string): string {
  const is = host === 'localhost' ? 'loopback' : isIP(host) === 0 ? undefined : classOfAddress(host)
  return is === 'loopback' || is === 'private' ? `. This address needs --allow-${is} too` : ''
}

/** The dialect of a server: as configured, else the one its well-known address implies (KS-2). */
export function dialectOf({ base, host, isLocalDaemon }: BaseUrl, given: Dialect | undefined): Dialect {
  if (given !== undefined) return given
  if (isLocalDaemon) return 'local'
  if (base === HOSTED) return 'hosted'
  throw new KimError('usage', `--dialect is required with --url ${base}`, {
    hint: `add --dialect local or --dialect hosted; kim-producer never guesses it${alsoNeeded(host)}`,
  })
}
