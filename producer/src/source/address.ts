/** Which server a URL names, and which addresses it may lead to (KS-2, KS-80 to KS-82). */
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { KimError } from '@kim/manifest'
import type { Dialect } from './source.js'

/** What an address may be used for: `never` is unspecified, multicast, reserved, or no address at all. */
export type AddressClass = 'public' | 'loopback' | 'private' | 'never'

type Block = readonly [prefix: string, bits: number, is: AddressClass]

/** The special-purpose blocks of IPv4; an address in none of them is public. The first match decides. */
const BLOCKS_4: readonly Block[] = [
  ['127.0.0.0', 8, 'loopback'],
  ['10.0.0.0', 8, 'private'],
  ['172.16.0.0', 12, 'private'],
  ['192.168.0.0', 16, 'private'],
  ['100.64.0.0', 10, 'private'],
  ['169.254.0.0', 16, 'private'],
  ['0.0.0.0', 8, 'never'],
  ['192.0.0.0', 24, 'never'],
  ['192.0.2.0', 24, 'never'],
  ['192.88.99.0', 24, 'never'],
  ['198.18.0.0', 15, 'never'],
  ['198.51.100.0', 24, 'never'],
  ['203.0.113.0', 24, 'never'],
  ['224.0.0.0', 3, 'never'],
]

/** Those of IPv6. What is not global unicast (2000::/3) is reserved, the last row says so. */
const BLOCKS_6: readonly Block[] = [
  ['::1', 128, 'loopback'],
  ['fc00::', 7, 'private'],
  ['fe80::', 10, 'private'],
  ['2001::', 23, 'never'],
  ['2001:db8::', 32, 'never'],
  ['3fff::', 20, 'never'],
  ['2000::', 3, 'public'],
  ['::', 0, 'never'],
]

/** Where an IPv6 address holds an IPv4 one: translators carry a packet to that one. */
const HOLDERS: readonly (readonly [prefix: string, bits: number, at: number, mask: number])[] = [
  ['::ffff:0:0', 96, 12, 0],
  ['::ffff:0:0:0', 96, 12, 0],
  ['64:ff9b::', 96, 12, 0],
  ['2002::', 16, 2, 0],
  // Teredo holds the client's with every bit turned.
  ['2001::', 32, 12, 0xff],
]

function bytesOf4(address: string): number[] {
  return address.split('.').map(Number)
}

/** The sixteen bytes of a valid address; the last two groups may be dotted. */
function bytesOf6(address: string): number[] {
  const groups = (text: string): number[] =>
    text === ''
      ? []
      : text.split(':').flatMap(group => {
          if (group.includes('.')) return bytesOf4(group)
          const value = Number.parseInt(group, 16)
          return [value >> 8, value & 0xff]
        })
  const [before = '', after] = address.split('::')
  const head = groups(before)
  const tail = groups(after ?? '')
  return [...head, ...Array<number>(16 - head.length - tail.length).fill(0), ...tail]
}

function isWithin(bytes: readonly number[], prefix: readonly number[], bits: number): boolean {
  for (let at = 0; at * 8 < bits; at++) {
    const mask = (0xff00 >> Math.min(8, bits - at * 8)) & 0xff
    if (((bytes[at] ?? 0) & mask) !== ((prefix[at] ?? 0) & mask)) return false
  }
  return true
}

function classIn(
  bytes: readonly number[],
  blocks: readonly Block[],
  parse: (text: string) => number[],
): AddressClass {
  return blocks.find(([prefix, bits]) => isWithin(bytes, parse(prefix), bits))?.[2] ?? 'public'
}

/** The IPv4 address that an IPv6 one leads to, or undefined. */
function heldBy(bytes: readonly number[]): number[] | undefined {
  const holder = HOLDERS.find(([prefix, bits]) => isWithin(bytes, bytesOf6(prefix), bits))
  if (holder !== undefined) {
    const [, , at, mask] = holder
    return bytes.slice(at, at + 4).map(byte => byte ^ mask)
  }
  // The deprecated compatible form, ::a.b.c.d; :: and ::1 are themselves.
  const compatible =
    bytes.slice(0, 12).every(byte => byte === 0) && bytes.slice(12, 15).some(byte => byte !== 0)
  return compatible ? bytes.slice(12) : undefined
}

/** Judges one address as a resolver gives it; a zone (`%eth0`) does not matter (KS-81). */
export function classOfAddress(address: string): AddressClass {
  if (isIPv4(address)) return classIn(bytesOf4(address), BLOCKS_4, bytesOf4)
  const [bare = ''] = address.split('%')
  if (!isIPv6(bare)) return 'never'
  const bytes = bytesOf6(bare)
  const held = heldBy(bytes)
  return held === undefined ? classIn(bytes, BLOCKS_6, bytesOf6) : classIn(held, BLOCKS_4, bytesOf4)
}

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

/** The Kijito of everybody who runs none. */
export const HOSTED = 'https://api.kijito.ai'
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

/** Names the flag that such an address would need next, so that the errors need not come one by one. */
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

/** Which addresses the operator lets us talk to besides public ones. */
export interface Permit {
  readonly loopback: boolean
  readonly private: boolean
}

export function forbidden(
  { base, isLocalDaemon }: BaseUrl,
  address: string,
  permit: Permit,
): KimError | undefined {
  const is = classOfAddress(address)
  if (is === 'public') return undefined
  if (is === 'loopback' && (permit.loopback || isLocalDaemon)) return undefined
  if (is === 'private' && permit.private) return undefined
  const what = is === 'never' ? 'an address no server can have' : `a ${is} address`
  const hint = is === 'never' ? 'use another URL: --url URL' : `if you trust this address, add --allow-${is}`
  return new KimError('config_invalid', `${base} leads to ${address}, ${what}`, { hint })
}
