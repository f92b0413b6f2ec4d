/** Lines of random journals: ours, foreign ones, broken ones, and ones that pretend. */
import { createHash } from 'node:crypto'
import type { Prng } from '../kit/index.js'

type Json = Record<string, unknown>

/** What lines are made from; it advances as they are made. */
export interface World {
  readonly rng: Prng
  seq: number
  writer: string
  readonly project: string
  /** Blobs that were referred to, by hash; absent content means that the file is missing. */
  readonly blobs: Map<string, Buffer | undefined>
  /** Checkpoints that the next segment is to vouch for. */
  readonly refs: Json[]
  /** Head of the newest checkpoint: its line stands once, or nobody could say where its tail begins. */
  floor: number
}

const WRITERS = ['w_1-aa', 'w_2-bb', 'w_3-cc']
const PERSONAS = ['river', 'argus', 'loom', '__proto__', 'a/b', 'ü']
const VERBS = {
  create: 20,
  update: 30,
  delete: 12,
  backfill: 4,
  claim: 2,
  session_start: 3,
  assignment_progress: 2,
  assignment_failed: 3,
  assignment_novel: 2,
  run_completed: 2,
  run_progress: 2,
  federation_apply: 1,
  invented: 3,
} as const
const TYPES = [
  'message',
  'message',
  'message',
  'alert',
  'persona',
  'action',
  'state',
  'assignment',
  'candidate',
  'constructor',
]
const TEXTS = [
  'plain words',
  'he said "hi"',
  'back\\slash',
  'line\nbreak',
  '} },{ "seq":5,"summary":"x"',
  '},"seq":7,"summary":"","ts":"","v":2,"writer":"w"}',
  '{"action":"delete","item_id":"river/1","item_type":"message"}',
  'snow ☃ 𝄞 \u2028\u2029\u0085',
  '\u0000\u001f\u007f',
  '\ud800',
  '',
]

const ours = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(ours).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, inner]) => `${JSON.stringify(key)}:${ours(inner)}`).join(',')}}`
}

const EVENTS = ['new', 'new', 'alert', 'recovered', 'armed', 'something_else']

function itemId(rng: Prng): unknown {
  return rng.weighted({ usual: 60, odd: 6, none: 2 }) === 'usual'
    ? `${rng.pick(PERSONAS)}/${rng.between(1, 6)}`
    : rng.pick<unknown>(['', 5, null, undefined, 'tab\there', 'quote"d', '__proto__', '\udfff', 'ÿ/1'])
}

function payload(rng: Prng): Json {
  const value: Json = { schema_version: 1, text: rng.pick(TEXTS), n: rng.int(1000) }
  if (rng.chance(0.3)) value['read'] = rng.chance(0.5)
  if (rng.chance(0.2)) value['status'] = rng.pick(['pending', 'open', 'failed', 'blocked', 'completed'])
  if (rng.chance(0.1)) value['unread_urgent'] = rng.pick([0, 1, 3, -1, 'x'])
  if (rng.chance(0.15)) value['nested'] = { deep: [{ a: {} }, '}', [[]]], item_id: 'decoy', seq: 1 }
  if (rng.chance(0.05)) value['numbers'] = [1e300, -0, 5e-324, 1.5]
  return value
}

function seqOf(world: World): number {
  const { rng } = world
  switch (rng.weighted({ next: 90, jump: 3, back: 3, same: 3 })) {
    case 'jump':
      world.seq += rng.between(2, 5)
      return world.seq
    case 'back':
      return Math.max(world.floor + 1, world.seq - rng.between(1, 6))
    case 'same':
      return Math.max(world.floor + 1, world.seq)
    default:
      world.seq += 1
      return world.seq
  }
}

/** A record of any kind, as an object. */
export function randomRecord(world: World): Json {
  const { rng } = world
  const record: Json = {
    v: 2,
    seq: seqOf(world),
    action: rng.weighted(VERBS),
    agent: rng.pick(PERSONAS),
    item_type: rng.pick(TYPES),
    item_id: itemId(rng),
    entity_rev: rng.chance(0.95) ? rng.between(0, 9) : rng.pick<unknown>([undefined, -1, 1.5, '3', 2 ** 53]),
    summary: rng.pick(TEXTS),
    ts: '2026-06-10T14:03:22.114Z',
    writer: rng.chance(0.97) ? world.writer : rng.pick<unknown>([undefined, 7, 'w\\x', '']),
  }
  if (rng.chance(0.6)) record['clock'] = { boot_ms: rng.int(9999), mono_ms: rng.int(9999) / 8, wait_ms: 3 }
  if (rng.chance(0.02)) record['clock'] = rng.pick<unknown>([{}, { wait_ms: -1 }, [], { boot_ms: 1e21 }])
  if (rng.chance(0.85)) record['payload'] = payload(rng)
  if (rng.chance(0.25)) record['event'] = rng.pick(EVENTS)
  if (rng.chance(0.05)) Object.assign(record, { key: 'k', actor: { kind: 'operator', name: 'a new user' } })
  if (rng.chance(0.02)) record['extra'] = rng.pick<unknown>([1, {}, 'x'])
  if (rng.chance(0.05)) record['payload_ref'] = randomRef(world)
  return record
}

function randomRef({ rng, blobs }: World): unknown {
  if (rng.chance(0.3))
    return rng.pick<unknown>([null, {}, { sha256: 'x', bytes: 1 }, { sha256: 'A'.repeat(64), bytes: 0 }])
  const content = Buffer.from(ours({ ...payload(rng), large: true }))
  const sha256 = createHash('sha256').update(content).digest('hex')
  const fate = rng.weighted({ there: 6, missing: 2, other: 1 })
  blobs.set(sha256, fate === 'missing' ? undefined : fate === 'other' ? Buffer.from('{}') : content)
  return { sha256, bytes: content.length + (rng.chance(0.1) ? 1 : 0) }
}

/** A note of the kinds a reader looks at. */
export function note(world: World, kind: string, more: Json = {}): Json {
  world.seq += 1
  const action = kind === 'seq_repair' || kind === 'checkpoint_ref' ? kind : 'journal_note'
  return {
    v: 2,
    seq: world.seq,
    action,
    agent: 'kim',
    clock: { boot_ms: 1, mono_ms: 1, wait_ms: 0 },
    entity_rev: 0,
    item_id: kind,
    item_type: 'journal',
    payload: { schema_version: 1, ...(action === 'journal_note' ? { kind } : {}), ...more },
    summary: kind,
    ts: '2026-06-10T14:03:22.114Z',
    writer: world.writer,
  }
}

/** Writes a record as one of many writers would. */
export function lineOf(rng: Prng, record: Json): Buffer {
  const exact = ours(record)
  switch (rng.weighted({ ours: 80, foreign: 8, spaced: 4, crlf: 2, twice: 3, hidden: 3 })) {
    case 'foreign':
      return Buffer.from(JSON.stringify(Object.fromEntries(Object.entries(record).reverse())))
    case 'spaced':
      return Buffer.from(JSON.stringify(record, null, 1).replaceAll('\n', ' \t'))
    case 'crlf':
      return Buffer.from(`${exact}\r`)
    case 'twice':
      // A key of the frame stands twice, the first time with another value.
      return Buffer.from(exact.replace('{"action":', '{"action":"delete","action":'))
    case 'hidden': {
      // A member behind the payload, where our frame has none.
      const member = rng.pick([
        '"item_id":"river/1"',
        '"action":"delete"',
        '"item_type":"alert"',
        '"v":3',
        '"tx":5',
        '"zz":{"seq":{}}',
      ])
      return Buffer.from(exact.replace(/,"seq":(?=\d+,"summary")/, `,${member},"seq":`))
    }
    default:
      return Buffer.from(exact)
  }
}

/** Lines that are no record, or a record nobody can understand yet. */
export function oddLine(world: World, sample: Buffer): Buffer {
  const { rng } = world
  switch (
    rng.weighted({
      blank: 3,
      garbage: 2,
      torn: 2,
      utf8: 2,
      future: 2,
      version: 1,
      flipped: 4,
      bom: 1,
      deep: 1,
    })
  ) {
    case 'blank':
      return Buffer.from(rng.pick(['', ' ', '\t\r', '\r']))
    case 'torn':
      return sample.subarray(0, rng.int(sample.length))
    case 'utf8': {
      const at = rng.int(sample.length)
      return Buffer.concat([
        sample.subarray(0, at),
        Buffer.from([rng.pick([0xff, 0xc3, 0xed, 0x80])]),
        sample.subarray(at),
      ])
    }
    case 'future':
      return Buffer.from(ours({ v: 3, seq: rng.chance(0.7) ? ++world.seq : 'x', anything: [] }))
    case 'version':
      return Buffer.from(
        ours({ ...randomRecord(world), v: rng.pick<unknown>([1, '2', null, 2.5, undefined]) }),
      )
    case 'flipped': {
      const bytes = Buffer.from(sample)
      const at = rng.int(bytes.length)
      bytes[at] = rng.pick([0x22, 0x7d, 0x5c, 0x2c, 0x01, 0x20, 0x30])
      return bytes
    }
    case 'bom':
      return Buffer.concat([Buffer.from('\ufeff'), sample])
    case 'deep':
      return Buffer.from(
        sample.toString().replace('"payload":{', `"payload":{"deep":${'['.repeat(260)}${']'.repeat(260)},`),
      )
    default:
      return Buffer.from(
        rng.pick(['garbage', '[]', '5', '{"v":2}', '{}', 'null', '{"v":2,"seq":1,"action":"x"}', '"']),
      )
  }
}

/** A run of records that belong together, or nearly. */
export function runLines(world: World): Buffer[] {
  const { rng } = world
  const n = rng.between(1, 4)
  const id = `t${rng.int(3)}`
  const lines: Buffer[] = []
  for (let i = 1; i <= n; i++) {
    const record = randomRecord(world)
    record['tx'] = rng.chance(0.03)
      ? rng.pick<unknown>([null, 'x', { id, i: 0, n }, { id: '', i, n }])
      : { id, i, n }
    if (rng.chance(0.03)) record['writer'] = rng.pick(WRITERS)
    lines.push(lineOf(rng, record))
    if (rng.chance(0.05)) lines.push(Buffer.from(' '))
  }
  if (rng.chance(0.2)) lines.splice(rng.int(lines.length), 1)
  if (rng.chance(0.05)) lines.splice(rng.int(lines.length), 0, Buffer.from('noise'))
  return lines
}

/** Now and then another process life writes. */
export function changeWriter(world: World): void {
  if (world.rng.chance(0.03)) world.writer = world.rng.pick(WRITERS)
}
