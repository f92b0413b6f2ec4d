import { isIPv4, isIPv6 } from 'node:net'

/** What an address may be used for: `never` is unspecified, multicast, reserved, or no address at all. */
export type AddressClass = 'public' | 'loopback' | 'private' | 'never'

type Block = readonly [prefix: string, bits: number, is: AddressClass]

/** The special-purpose blocks of IPv4; what stands in none of them is public. The first match decides. */
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

/** Where in an IPv6 address an IPv4 one stands: its translators carry a packet to that one. */
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
