import { Buffer } from 'node:buffer'
import type { Prng } from '../kit/index.js'

/** What a spoilt line is made from: a whole record of our writer, `{"action":…,"v":2,"writer":"…"}`. */
type Spoiler = (line: string, random: Prng) => string | Buffer

const swap =
  (from: RegExp, ...to: readonly string[]): Spoiler =>
  (line, random) => {
    const replacement = random.pick(to)
    return line.replace(from, () => replacement)
  }

/** Ways to make a line that is terminated and no record. Most keep our writer's frame and break what it holds. */
const SPOILERS: Readonly<Record<string, Spoiler>> = {
  payload: swap(
    /"payload":\{/,
    '"payload":{"a":},{',
    '"payload":{"a":1,},"x":{',
    '"payload":{a:1,',
    '"payload":{"a":"\\x",',
    '"payload":{"a":"\t",',
    '"payload":{"a":01,',
    '"payload":{"a":NaN,',
    '"payload":{"a":+1,',
    '"payload":{"a":1e400,',
    '"payload":{"a":-1e999,',
    '"payload":{"a":.5,',
    '"payload":{"a":"\\ud8",',
    '"payload":{"a" 1,',
    '"payload":{"a":tru,',
    '"payload":{,',
    '"payload":{}},"x":{',
    '"payload":null,"x":{',
    '"payload":[1],"x":{',
    '"payload":"{","x":{',
    `"payload":{"a":${'['.repeat(260)}${']'.repeat(260)},`,
    `"payload":{"a":${'{"b":'.repeat(256)}0${'}'.repeat(256)},`,
  ),
  version: swap(
    /"v":2/,
    '"v":1',
    '"v":"2"',
    '"v":1.5',
    '"v":null',
    '"v":[2]',
    '"v":2,"v":1',
    '"v":02',
    '"w":2',
  ),
  future: swap(/"v":2/, '"v":3', '"v":2.5', '"v":1e3', '"v":2,"v":9'),
  futureWithoutSeq: line => line.replace(/"seq":[^,]+/, '"seq":"x"').replace('"v":2', '"v":4'),
  seq: swap(
    /"seq":\d+/,
    '"seq":0',
    '"seq":-4',
    '"seq":1.5',
    '"seq":"5"',
    '"seq":9007199254740992',
    '"seq":null',
    '"seq":00012',
    '"s":1',
  ),
  action: swap(
    /^\{"action":"[^"]*"/,
    '{"action":""',
    '{"action":7',
    '{"xaction":"create"',
    '{"action":"cr\neate"'.replace('\n', '\u0001'),
  ),
  type: swap(
    /"item_type":"(?:[^"\\]|\\.)*"/,
    '"item_type":""',
    '"item_type":null',
    '"item_type":["message"]',
  ),
  revision: swap(/"entity_rev":\d+/, '"entity_rev":01', '"entity_rev":-', '"entity_rev":', '"entity_rev":1.'),
  cut: (line, random) => line.slice(0, random.between(1, line.length - 1)),
  behind: (line, random) => line + random.pick(['x', '}', ',', '{}', '\u00a0', '\ufeff', '\u0000', '\f']),
  before: (line, random) => random.pick(['\ufeff', 'x', '\u0000', ',', '\u00a0', '\v']) + line,
  noise: (_, random) =>
    random.pick(['null', '[]', '2', '"v"', 'true', '{}', '}', '{"v":2}', 'seq', '#', '\\', '\u0000', '\f']),
  // A character cut in the middle, a byte that never occurs, an overlong form, a surrogate in UTF-8.
  encoding: (line, random) => {
    const bad = Buffer.from(
      random.pick([[0xc3], [0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]]),
    )
    const bytes = Buffer.from(line)
    const at = random.chance(0.5)
      ? Math.max(1, line.indexOf('"summary":"') + 11)
      : random.between(1, bytes.length - 1)
    return Buffer.concat([bytes.subarray(0, at), bad, bytes.subarray(at)])
  },
}

/** A terminated line without its `\n` that is meant to be no record, though a reader has to find that out. */
export function spoil(line: string, random: Prng): Buffer {
  const spoiler = SPOILERS[random.pick(Object.keys(SPOILERS))] as Spoiler
  const spoilt = spoiler(line, random)
  return typeof spoilt === 'string' ? Buffer.from(spoilt) : spoilt
}

/** Every kind of spoiling there is. */
export const spoilerNames: readonly string[] = Object.keys(SPOILERS)
