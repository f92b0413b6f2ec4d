import type { Prng } from '../kit/index.js'

const DECOYS = [
  '","v":2,"writer":"w_1-decoy"}',
  '"},"seq":7,"summary":"","ts":"","v":2,"writer":"w"}',
  '{"action":"delete","item_id":"river/1","item_type":"message","seq":9,"v":2}\n',
  '"tx":{"i":1,"id":"x","n":2}',
  '}}}]],"payload":{',
  '\\"',
  '\\',
] as const

const WORDS = ['', 'tests are green', 'é', '\ufeff', '😀', '\ud83d', '\u0000', '\u2028', 'a\tb', 'z'] as const
const KEYS = [
  '__proto__',
  'constructor',
  'payload',
  'seq',
  'item_id',
  'v',
  'writer',
  'tx',
  'status',
  'b',
  'é',
  '\ud800',
  '',
]
const NUMBERS = [
  0,
  -0,
  1,
  -1,
  0.1,
  1e21,
  1e-7,
  5e-324,
  1.7976931348623157e308,
  2 ** 53,
  -(2 ** 60),
  333333333,
]

/** A string, of which some look like pieces of a record. */
export function randomText(random: Prng): string {
  return random.chance(0.3) ? random.pick(DECOYS) : random.pick(WORDS)
}

/** Any JSON value. */
export function randomValue(random: Prng, depth = 3): unknown {
  const kind = random.weighted({ text: 4, number: 3, flag: 1, nothing: 1, list: depth, object: depth })
  if (kind === 'text') return randomText(random)
  if (kind === 'number') return random.pick(NUMBERS)
  if (kind === 'flag') return random.chance(0.5)
  if (kind === 'nothing') return null
  if (kind === 'list') return Array.from({ length: random.int(4) }, () => randomValue(random, depth - 1))
  return randomObject(random, depth - 1)
}

/** Any JSON object. Own members only, whatever they are called. */
export function randomObject(random: Prng, depth = 3): Record<string, unknown> {
  const members = Array.from({ length: random.int(4) }, () => [
    random.pick(KEYS),
    randomValue(random, Math.max(0, depth)),
  ])
  return Object.fromEntries(members) as Record<string, unknown>
}

const STATUSES = [
  'pending',
  'blocked',
  'failed',
  'completed',
  'waiting_input',
  'timed_out',
  'expired',
  'interrupted',
  'cancelled',
  'open',
  'cleared',
  'up',
  null,
  7,
]

/** A payload whose fields the attention rules look at. */
export function randomPayload(random: Prng): Record<string, unknown> {
  const payload: Record<string, unknown> = { schema_version: 1 }
  if (random.chance(0.6)) payload['status'] = random.pick(STATUSES)
  if (random.chance(0.2)) payload['evidence_contradicted'] = random.pick([true, false, 'true'])
  if (random.chance(0.2)) payload['source'] = random.pick(['auto', 'automatic', 'person', null, 3])
  if (random.chance(0.2)) payload['origin'] = random.pick(['session-end:4', 'session', null])
  if (random.chance(0.2)) payload['unread_urgent'] = random.pick([0, 1, 5, -1, 1.5, '2', null, 1e300])
  if (random.chance(0.4)) payload['content'] = randomText(random)
  if (random.chance(0.4)) Object.assign(payload, randomObject(random))
  if (random.chance(0.01)) payload['deep'] = nested(random.pick([40, 252, 253]))
  return payload
}

/** Arrays in one another. */
export function nested(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

const TYPES = [
  'message',
  'message',
  'message',
  'persona',
  'alert',
  'assignment',
  'agent_run',
  'action',
  'state',
  'candidate',
  'gate',
  'journal',
  'widget',
  '__proto__',
  'a\tb',
  '\ud800',
  'Message',
]
const IDS = [
  ...Array.from({ length: 9 }, (_, at) => `river/${at}`),
  'argus/1',
  '__proto__',
  'constructor',
  'a\tb',
  'b',
  '\ud800',
  '\udc00',
  'é',
  '\u0000',
  '"quoted"',
  ' ',
]

/** The name of an entity, from a pool so small that most are met again. */
export function randomEntity(random: Prng): { item_type: string; item_id: string } {
  return { item_type: random.pick(TYPES), item_id: random.pick(IDS) }
}
