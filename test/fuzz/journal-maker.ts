import { Buffer } from 'node:buffer'
import { Prng } from '../kit/index.js'
import { jsonText } from './json-text.js'
import { MadeState, sha256 } from './made-state.js'
import { randomEntity, randomPayload, randomText } from './random-value.js'
import { spoil } from './spoilt-line.js'

/** A journal as it will stand on disk. */
export interface MadeJournal {
  readonly seed: number
  readonly profile: Profile
  readonly segments: readonly MadeSegment[]
  readonly checkpoints: readonly MadeCheckpoint[]
  readonly blobs: ReadonlyMap<string, Buffer>
  /** Records with their seq and writer, for cursors to point at. */
  readonly known: readonly { readonly seq: number; readonly writer: string | undefined }[]
  readonly head: number
  /** The kinds of things that stand in it. */
  readonly traits: ReadonlySet<string>
}

export interface MadeSegment {
  readonly number: number
  readonly bytes: Buffer
}

export interface MadeCheckpoint {
  readonly name: string
  readonly bytes: Buffer
  /** True if a reader may come to rely on it. */
  readonly true: boolean
}

type Profile = 'ours' | 'foreign' | 'mixed' | 'chaos'
type Fields = Record<string, unknown>

/** A record that had its effect. */
interface Known {
  readonly fields: Fields
  readonly seq: number
  readonly writer: string | undefined
  readonly line: Buffer
  readonly segment: number
}

const VERBS = {
  state: [
    'create',
    'update',
    'accept',
    'reject',
    'claim',
    'release_claim',
    'rollback',
    'upgrade',
    'backfill',
  ],
  remove: ['delete'],
  registry: [
    'assignment_created',
    'assignment_failed',
    'run_blocked',
    'run_amended',
    'assignment_zzz',
    'run_',
  ],
  observed: ['session_start', 'session_end', 'assignment_offered', 'assignment_progress', 'run_progress'],
  meta: ['federation_apply', 'journal_note', 'seq_repair', 'checkpoint_ref'],
  unknown: ['frob', '__proto__', 'toString', 'Create', 'assignment', 'é'],
} as const

const EVENTS = ['new', 'new', 'new', 'armed', 'alert', 'recovered', 'heartbeat', 'frobnicated', '__proto__']

const STEPS: Readonly<Record<Profile, Readonly<Record<string, number>>>> = {
  ours: { record: 60, note: 4, run: 4, roll: 3, gap: 1, checkpoint: 2 },
  foreign: { record: 60, blank: 8, note: 2, roll: 3, gap: 2, spoilt: 3, repeat: 1 },
  mixed: {
    record: 60,
    blank: 3,
    note: 4,
    run: 4,
    brokenRun: 2,
    roll: 4,
    gap: 2,
    spoilt: 5,
    repeat: 2,
    duplicate: 2,
    checkpoint: 3,
  },
  chaos: {
    record: 30,
    blank: 5,
    note: 5,
    run: 8,
    brokenRun: 8,
    roll: 5,
    gap: 5,
    spoilt: 14,
    repeat: 6,
    duplicate: 10,
    regress: 4,
    checkpoint: 5,
  },
}

/** A random journal, the same for the same seed. */
export function makeJournal(seed: number): MadeJournal {
  return new JournalMaker(seed).make()
}

class JournalMaker {
  readonly #random: Prng
  readonly #profile: Profile
  readonly #state = new MadeState()
  readonly #projectId: string | undefined
  readonly #segments: { number: number; pieces: Buffer[] }[] = []
  readonly #checkpoints: MadeCheckpoint[] = []
  readonly #blobs = new Map<string, Buffer>()
  readonly #known: Known[] = []
  readonly #traits = new Set<string>()
  /** Heads of checkpoints: nothing may repeat these, or the checkpoint would begin its tail elsewhere. */
  readonly #heads = new Set<number>()
  /** Numbers that were passed over and may be used late. */
  readonly #skipped: number[] = []
  /** Refs to append when their time has come. */
  #owed: { due: number; payload: Fields }[] = []
  #head = 0
  #steps = 0
  #writer: string

  constructor(seed: number) {
    const random = new Prng(seed)
    this.#random = random
    this.#profile = random.weighted({ ours: 2, foreign: 2, mixed: 4, chaos: 4 })
    this.#projectId = this.#profile !== 'foreign' && random.chance(0.85) ? random.hex(16) : undefined
    this.#writer = this.#newWriter()
    this.#head = random.chance(0.04) ? random.between(1, 900) : 0
  }

  make(): MadeJournal {
    const random = this.#random
    const size = random.weighted({ none: 1, few: 10, some: 30, many: 10, long: 1 })
    const steps = { none: 0, few: random.between(1, 6), some: random.between(6, 40), many: 120, long: 700 }[
      size
    ]
    if (steps > 0 || random.chance(0.5)) this.#begin(random.chance(0.9) ? this.#head + 1 : 1)
    while (this.#steps < steps) this.#step(random.weighted(STEPS[this.#profile]))
    if (steps > 0) this.#end()
    return {
      seed: random.seed,
      profile: this.#profile,
      segments: this.#segments.map(({ number, pieces }) => ({ number, bytes: Buffer.concat(pieces) })),
      checkpoints: this.#checkpoints,
      blobs: this.#blobs,
      known: this.#known,
      head: this.#head,
      traits: this.#traits,
    }
  }

  #step(kind: string): void {
    this.#steps += 1
    this.#traits.add(kind)
    const due = this.#owed.filter(one => one.due <= this.#steps)
    this.#owed = this.#owed.filter(one => one.due > this.#steps)
    for (const { payload } of due) this.#append(this.#noteFields('checkpoint_ref', 'checkpoint_ref', payload))
    if (kind === 'record') this.#append(this.#recordFields())
    else if (kind === 'blank') this.#line(this.#random.pick(['', ' ', '\t', '\r', ' \t\r']))
    else if (kind === 'note') this.#note()
    else if (kind === 'run') this.#run()
    else if (kind === 'brokenRun') this.#brokenRun()
    else if (kind === 'roll') this.#roll()
    else if (kind === 'gap') this.#gap()
    else if (kind === 'spoilt') this.#spoilt()
    else if (kind === 'repeat') this.#repeat()
    else if (kind === 'duplicate') this.#duplicate()
    else if (kind === 'regress') this.#regress()
    else this.#checkpoint()
  }

  // --- lines ---

  #begin(number: number): void {
    this.#segments.push({ number, pieces: [] })
    if (this.#random.chance(this.#profile === 'ours' ? 0 : 0.06)) {
      this.#traits.add('bom')
      this.#segment.pieces.push(Buffer.from('\ufeff'))
    }
    if (this.#projectId === undefined) return
    const kind = this.#segments.length === 1 ? 'genesis' : 'segment_sealed'
    if (this.#profile === 'ours' || this.#random.chance(0.8))
      this.#append(this.#noteFields('journal_note', kind, { kind, project_id: this.#projectId }))
  }

  get #segment(): { number: number; pieces: Buffer[] } {
    const segment = this.#segments.at(-1)
    if (segment === undefined) throw new Error('no segment has begun')
    return segment
  }

  #line(line: string | Buffer): void {
    this.#segment.pieces.push(typeof line === 'string' ? Buffer.from(line) : line, Buffer.from('\n'))
  }

  /** The bytes of a record's line: our writer's frame, another writer's, or a twisted one that means the same. */
  #encode(fields: Fields): Buffer {
    const random = this.#random
    const strict = { ours: 1, foreign: 0.05, mixed: 0.7, chaos: 0.8 }[this.#profile]
    const isStrict = random.chance(strict)
    let text = jsonText(fields, { random, strict: isStrict })
    if (this.#profile !== 'ours' && random.chance(0.04)) text = this.#twist(text, fields)
    if (!isStrict && random.chance(0.1)) text = random.pick([`${text}\r`, ` ${text}`, `${text} \t`])
    return Buffer.from(text)
  }

  /** Names keys twice; the last one counts, so the meaning stays. */
  #twist(text: string, fields: Fields): string {
    this.#traits.add('twisted')
    const random = this.#random
    const decoy = {
      action: 'delete',
      entity_rev: 77,
      event: 'new',
      item_id: 'river/0',
      item_type: 'alert',
      payload: { decoy: 1 },
      seq: 1,
      summary: 'decoy',
      tx: { i: 1, id: 'decoy', n: 2 },
      v: random.pick([1, 2, 3]),
      writer: 'w_decoy',
    }
    const names = (Object.keys(decoy) as (keyof typeof decoy)[]).filter(name => Object.hasOwn(fields, name))
    if (random.chance(0.5)) {
      const name = random.pick(names)
      return `{"${name}":${JSON.stringify(decoy[name])},${text.slice(1)}`
    }
    // Behind an early end of the payload, where a hasty reader is not looking any more.
    const at = text.indexOf('"payload":{')
    if (at === -1 || !isTopLevel(text.slice(0, at))) return text
    const again = random.pick(names.filter(name => name !== 'payload'))
    const value = jsonText(fields[again], { random, strict: true })
    return `${text.slice(0, at)}"payload":{"decoy":{"a":1}},"${again}":${value},${text.slice(at)}`
  }

  // --- records ---

  #newWriter(): string {
    return `w_${this.#random.between(1, 99_999)}-${this.#random.hex(3)}`
  }

  #recordFields(): Fields {
    const random = this.#random
    const isOurs = this.#profile === 'ours'
    if (random.chance(isOurs ? 0.01 : 0.04)) this.#writer = this.#newWriter()
    const verbs = random.weighted({ state: 60, remove: 12, registry: 12, observed: 6, meta: 2, unknown: 4 })
    const entity = randomEntity(random)
    const rev = this.#state.revisionOf(entity) + (random.chance(0.05) ? random.pick([-1, 0, 2, 3, 9]) : 1)
    const fields: Fields = {
      action: random.pick(VERBS[verbs]),
      agent: random.pick(['river', 'argus', 'loom']),
      ...entity,
      entity_rev: Math.max(0, rev),
      seq: 0,
      summary: random.chance(0.3) ? randomText(random) : 'from argus: tests are green',
      ts: '2026-06-10T14:03:22.114Z',
      v: 2,
      writer: this.#writer,
    }
    if (verbs !== 'remove' || random.chance(0.05)) this.#givePayload(fields)
    if (random.chance(0.25)) fields['event'] = random.pick(EVENTS)
    if (random.chance(0.5)) fields['clock'] = random.pick([{ boot_ms: 5, mono_ms: 4.25 }, {}, { wait_ms: 0 }])
    if (random.chance(0.05))
      Object.assign(fields, { key: randomText(random), actor: { kind: 'agent', name: 'river' } })
    if (!isOurs) this.#blur(fields)
    return fields
  }

  /** What another writer may leave out or get wrong. */
  #blur(fields: Fields): void {
    const random = this.#random
    const rate = this.#profile === 'foreign' ? 0.15 : 0.02
    for (const name of ['agent', 'entity_rev', 'summary', 'ts', 'writer', 'clock'])
      if (random.chance(rate)) delete fields[name]
    if (random.chance(rate / 2)) fields['item_id'] = random.pick(['', 7, null, undefined])
    if (random.chance(rate / 2)) fields['entity_rev'] = random.pick([-1, 1.5, '2', null, 2 ** 53])
    if (random.chance(rate / 2)) fields['event'] = random.pick(['', 7, null])
    if (random.chance(rate / 2)) fields['writer'] = random.pick(['', 7, null])
    if (random.chance(rate))
      fields['more'] = random.pick([1, { payload: { seq: 1 } }, [{}], randomText(random)])
  }

  #givePayload(fields: Fields): void {
    const random = this.#random
    const kind = random.weighted({
      inline: 80,
      none: 8,
      blob: 6,
      absent: 1,
      wrong: 1,
      invalid: 2,
      both: 2,
      big: 0.3,
    })
    this.#traits.add(`payload ${kind}`)
    if (kind === 'none') return
    const payload = randomPayload(random)
    if (kind === 'big') payload['big'] = 'x'.repeat(random.between(1, 200_000))
    if (kind === 'inline' || kind === 'both' || kind === 'big') fields['payload'] = payload
    if (kind === 'inline' || kind === 'big') return
    const bytes = Buffer.from(
      random.chance(0.9) ? jsonText(payload, { random, strict: true }) : randomText(random),
    )
    const digest = sha256(bytes)
    fields['payload_ref'] =
      kind === 'invalid'
        ? random.pick<unknown>([
            null,
            {},
            digest,
            { bytes: -1, sha256: digest },
            { bytes: 1, sha256: digest.toUpperCase().replace(/^./, 'F') },
          ])
        : { bytes: bytes.length + (kind === 'wrong' && random.chance(0.5) ? 1 : 0), sha256: digest }
    if (kind === 'absent' || kind === 'invalid' || this.#blobs.has(digest)) return
    const isWrong = kind === 'wrong' && random.chance(0.5)
    this.#blobs.set(digest, isWrong ? Buffer.concat([bytes, Buffer.from(' ')]) : bytes)
  }

  #noteFields(action: string, itemId: string, payload: Fields): Fields {
    return {
      action,
      agent: 'kim',
      entity_rev: 0,
      item_id: itemId,
      item_type: 'journal',
      payload: { ...payload, schema_version: 1 },
      seq: 0,
      summary: '',
      ts: '2026-06-10T14:03:22.114Z',
      v: 2,
      writer: this.#writer,
    }
  }

  /** Appends a record that has its effect; without a seq of its own it takes the next one. */
  #append(fields: Fields, seq = this.#head + 1): void {
    fields['seq'] = seq
    const line = this.#encode(fields)
    this.#line(line)
    this.#take(fields, line)
  }

  #take(fields: Fields, line: Buffer): void {
    const seq = fields['seq'] as number
    this.#head = Math.max(this.#head, seq)
    const writer = typeof fields['writer'] === 'string' ? fields['writer'] : undefined
    this.#known.push({ fields, seq, writer, line, segment: this.#segment.number })
    const { action, item_type, item_id } = fields as { action: string; item_type: string; item_id: unknown }
    const inline = fields['payload']
    const ref = inline === undefined ? validRef(fields['payload_ref']) : undefined
    const hasPayload = inline !== undefined || ref !== undefined
    const isMeta = (VERBS.meta as readonly string[]).includes(action)
    if (action === 'journal_note' && (inline as Fields | undefined)?.['kind'] === 'registry_genesis')
      this.#state.registry = true
    if (isMeta || (VERBS.observed as readonly string[]).includes(action)) return
    if (typeof item_id !== 'string' || item_id === '') return
    const optional = (name: string): Fields =>
      typeof fields[name] === 'string' ? { [name]: fields[name] } : {}
    const rev = fields['entity_rev']
    const image = {
      ...optional('agent'),
      ...(typeof rev === 'number' && Number.isSafeInteger(rev) && rev >= 0 ? { entity_rev: rev } : {}),
      item_id,
      item_type,
      ...(inline !== undefined ? { payload: inline } : ref !== undefined ? { payload_ref: ref } : {}),
      seq,
      ...optional('ts'),
    }
    if (action === 'delete') this.#state.remove(image)
    else if (hasPayload) this.#state.upsert(image)
  }

  #note(): void {
    const random = this.#random
    const kind = random.pick([
      'registry_genesis',
      'producer_started',
      'producer_stopped',
      'store_marker',
      'odd',
    ])
    if (kind === 'registry_genesis' && random.chance(0.5)) return
    const payload: Fields = { kind, mode: 'all', personas: [], text: randomText(random) }
    if (kind === 'odd')
      payload['kind'] = random.pick([7, null, 'genesis', 'REGISTRY_GENESIS', ['registry_genesis']])
    this.#append(this.#noteFields('journal_note', kind, payload))
  }

  #run(): void {
    const random = this.#random
    const n = random.chance(0.05) ? 40 : random.between(1, 5)
    const id = random.hex(4)
    const writer = this.#newWriter()
    const made = Array.from({ length: n }, (_, at) => {
      const fields = { ...this.#recordFields(), writer, seq: this.#head + 1 + at, tx: { i: at + 1, id, n } }
      return { fields, line: this.#encode(fields) }
    })
    for (const { line } of made) {
      this.#line(line)
      if (random.chance(0.05)) this.#line(random.pick(['', '\r']))
    }
    for (const { fields, line } of made) this.#take(fields, line)
  }

  /** Records with a `tx` that never have an effect; their seqs are used up all the same. */
  #brokenRun(): void {
    const random = this.#random
    const kind = random.pick(['short', 'gap', 'order', 'id', 'n', 'writer', 'split', 'bad', 'late'])
    this.#traits.add(`run ${kind}`)
    const n = random.between(2, 4)
    const txs: unknown[] = Array.from({ length: n }, (_, at) => ({ i: at + 1, id: 'run', n }))
    if (kind === 'short') txs.pop()
    if (kind === 'gap') txs.splice(random.between(0, n - 2), 1)
    if (kind === 'order') txs.reverse()
    if (kind === 'id') txs[n - 1] = { i: n, id: 'other', n }
    if (kind === 'n') txs[n - 1] = { i: n, id: 'run', n: n + 1 }
    if (kind === 'late') txs.shift()
    if (kind === 'bad') {
      const bad = [null, {}, 'x', { i: 1, id: '', n: 1 }, { i: 1, id: 'x', n: 1001 }, { i: 0, id: 'x', n: 1 }]
      txs.splice(0, n, random.pick<unknown>([...bad, { i: 2, id: 'x', n: 1 }, { i: '1', id: 'x', n: 1 }]))
    }
    const last = txs.length - 1
    for (const [at, tx] of txs.entries()) {
      const fields: Fields = { ...this.#recordFields(), writer: this.#writer, tx }
      if (kind === 'writer' && at === last) fields['writer'] = 'w_1-other'
      if (kind === 'split' && at === last) this.#line('{"v":')
      this.#useUp(fields)
    }
    // What follows stands alone, so that nothing completes the run after all.
    this.#append(this.#noteFields('journal_note', 'store_marker', { kind: 'store_marker' }))
  }

  #useUp(fields: Fields): void {
    this.#head += 1
    fields['seq'] = this.#head
    this.#line(this.#encode(fields))
  }

  // --- damage ---

  #spoilt(): void {
    // At byte 0 of a segment a byte order mark would be none of the line.
    if (this.#segment.pieces.length === 0) this.#line('x')
    const random = this.#random
    // Nothing in it is called like a member of a record, so that spoiling one spoils that one.
    const whole: Fields = {
      ...this.#noteFields(random.pick(VERBS.state), 'river/1', {}),
      ...randomEntity(random),
      agent: 'river',
      entity_rev: random.int(4),
      payload: { content: randomText(random), schema_version: 1 },
      seq: this.#head + 1,
      summary: randomText(random),
    }
    if (random.chance(0.2)) whole['event'] = 'new'
    this.#line(spoil(jsonText(whole, { random, strict: true }), random))
  }

  #repeatable(): Known[] {
    return this.#known.filter(({ seq }) => !this.#heads.has(seq))
  }

  /** The same bytes again: nothing in the same segment, a second effect in another. */
  #repeat(): void {
    const candidates = this.#repeatable().filter(({ fields }) => fields['tx'] === undefined)
    if (candidates.length === 0) return
    const { fields, line } = this.#random.pick(candidates.slice(-12))
    const { number } = this.#segment
    const stands = this.#known.some(one => one.segment === number && one.line.equals(line))
    this.#line(line)
    if (!stands) this.#take(fields, line)
  }

  /** A number that was given before, with other content. */
  #duplicate(): void {
    const candidates = this.#repeatable()
    if (candidates.length === 0) return
    const random = this.#random
    const { seq, writer, fields: earlier } = random.pick(candidates.slice(-12))
    const fields = this.#recordFields()
    const kind = random.pick(['writer', 'other', 'overwrite'])
    this.#traits.add(`duplicate ${kind}`)
    fields['writer'] = kind === 'writer' ? writer : this.#newWriter()
    if (kind === 'overwrite') {
      for (const name of ['item_type', 'item_id', 'entity_rev']) {
        if (earlier[name] === undefined) delete fields[name]
        else fields[name] = earlier[name]
      }
    }
    this.#append(fields, seq)
  }

  #gap(): void {
    const random = this.#random
    const from = this.#head + 1
    const to = this.#head + (random.chance(0.05) ? 100_000 : random.between(1, 9))
    const repairs = random.pick([
      [],
      [],
      [[from, to]],
      [[from - 1, to + 3]],
      [
        [from, from],
        [from + 1, to],
      ],
      [[from, to - 1]],
    ])
    if (random.chance(0.5)) this.#skipped.push(random.between(from, Math.min(to, from + 9)))
    const pay = (): void => {
      for (const [a, b] of repairs)
        this.#append(this.#noteFields('seq_repair', 'seq_repair', { from: a, to: b }))
    }
    // A repair may stand before the hole it explains: it names numbers, not places.
    if (repairs.length === 1 && random.chance(0.2)) {
      const at = to + 1
      this.#append(this.#noteFields('seq_repair', 'seq_repair', { from, to }), at)
    } else {
      this.#append(this.#recordFields(), to + 1)
      pay()
    }
  }

  #regress(): void {
    const seq = this.#skipped.pop()
    if (seq !== undefined && seq < this.#head) this.#append(this.#recordFields(), seq)
  }

  // --- segments and checkpoints ---

  #roll(): void {
    const random = this.#random
    if (this.#profile !== 'ours' && random.chance(0.08)) this.#fragment('sealed')
    // A name is a lower bound of the seqs in the file: numbers it passes over are passed over for good.
    if (random.chance(0.1)) this.#head += random.between(1, 5)
    this.#begin(Math.max(this.#segment.number, this.#head) + 1)
  }

  /** A checkpoint of all that stands before, true or spoilt in one of many ways. */
  #checkpoint(): void {
    const random = this.#random
    // Its head must be the newest line and bear the highest number.
    this.#append({
      ...this.#noteFields('journal_note', 'store_marker', { kind: 'store_marker' }),
      writer: this.#writer,
    })
    const head = { seq: this.#head, writer: this.#writer }
    this.#heads.add(head.seq)
    // A true one covers whole segments; with nothing repeated, one line is as good a place as another.
    if (this.#profile !== 'ours' || random.chance(0.8)) this.#roll()
    const kind = random.weighted({
      good: 14,
      orphan: 2,
      corrupt: 2,
      project: 1,
      count: 1,
      version: 1,
      mismatch: 1,
      dropped: 1,
      name: 1,
      text: 1,
    })
    this.#traits.add(`checkpoint ${kind}`)
    const lie = kind === 'good' || kind === 'project' ? {} : ({ payload: true } as const)
    const project = kind === 'project' ? random.hex(16) : (this.#projectId ?? random.hex(16))
    let text = this.#state.checkpoint(head, project, {
      ...lie,
      ...(kind === 'count' ? { count: random.pick([-1, 1]) } : {}),
      ...(kind === 'version' ? { version: 2 } : {}),
    })
    if (kind === 'text') text = text.replace('"head_seq"', '"head_sea"')
    const name = `ckpt-${String(kind === 'name' ? head.seq + 1 : head.seq).padStart(8, '0')}.json`
    const bytes = Buffer.from(text)
    const payload: Fields = {
      bytes: bytes.length,
      entities: Number(/"entity_count":(-?\d+)/.exec(text)?.[1] ?? 0),
      file: name,
      head_seq: head.seq,
      sha256: sha256(kind === 'mismatch' ? `${text} ` : bytes),
    }
    const at = bytes.lastIndexOf(']')
    if (kind === 'corrupt') bytes[random.int(at)] = 0x20 + random.int(90)
    if (kind === 'corrupt' && sha256(bytes) === payload['sha256']) bytes[at] = 0x21
    this.#checkpoints.push({ name, bytes, true: kind === 'good' || kind === 'project' })
    if (kind === 'orphan') return
    if (kind === 'dropped')
      this.#useUp({ ...this.#noteFields('checkpoint_ref', 'checkpoint_ref', payload), tx: 7 })
    else this.#owed.push({ due: this.#steps + random.pick([0, 1, 4]), payload })
  }

  // --- the end ---

  #end(): void {
    const random = this.#random
    for (const { payload } of this.#owed)
      if (random.chance(0.8)) this.#append(this.#noteFields('checkpoint_ref', 'checkpoint_ref', payload))
    if (random.chance(0.15)) this.#pending()
    if (random.chance(0.3)) this.#fragment('newest')
  }

  /** A run whose rest has not been written yet. */
  #pending(): void {
    const random = this.#random
    this.#traits.add('run pending')
    const n = random.between(2, 4)
    for (let at = 0; at < random.between(1, n - 1); at++) {
      const tx = { i: at + 1, id: 'pending', n }
      const fields = { ...this.#recordFields(), writer: this.#writer, seq: this.#head + 1 + at, tx }
      this.#line(this.#encode(fields))
      if (random.chance(0.2)) this.#line('')
    }
  }

  /** Bytes that no line feed ends. */
  #fragment(where: string): void {
    const random = this.#random
    this.#traits.add(`fragment ${where}`)
    const fields = { ...this.#recordFields(), seq: this.#head + 1 }
    const whole = this.#encode(fields)
    const piece = random.pick([
      whole,
      whole.subarray(0, random.int(whole.length)),
      Buffer.from(' '),
      Buffer.from([0xc3]),
    ])
    this.#segment.pieces.push(piece)
  }
}

function validRef(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const { bytes, sha256: digest } = value as Fields
  const isValid =
    Number.isSafeInteger(bytes) && (bytes as number) >= 0 && /^[0-9a-f]{64}$/.test(String(digest))
  return isValid ? { bytes, sha256: digest } : undefined
}

/** True if a member that is written next would be the outermost object's own. */
function isTopLevel(before: string): boolean {
  try {
    JSON.parse(`${before}"":0}`)
    return true
  } catch {
    return false
  }
}
