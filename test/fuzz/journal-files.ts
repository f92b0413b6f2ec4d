import { Buffer } from 'node:buffer'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Prng } from '../kit/index.js'
import type { MadeJournal, MadeSegment } from './journal-maker.js'

/** Where a client had come to, as it stands in its storage. */
export interface MadeCursor {
  readonly checkpoint_seq: number
  readonly seq: number
  readonly writer: string | null
}

/** What was laid out. */
export interface LaidOut {
  readonly cursor: MadeCursor | undefined
  readonly traits: ReadonlySet<string>
}

/** Writes a made journal as an `events` directory: parts parked or gone, files that belong to nobody beside it. */
export function layOut(journal: MadeJournal, eventsDir: string): LaidOut {
  return new Layout(journal, eventsDir).write()
}

class Layout {
  readonly #journal: MadeJournal
  readonly #eventsDir: string
  readonly #random: Prng
  readonly #traits = new Set<string>()

  constructor(journal: MadeJournal, eventsDir: string) {
    this.#journal = journal
    this.#eventsDir = eventsDir
    this.#random = new Prng(journal.seed ^ 0x5eed)
  }

  write(): LaidOut {
    rmSync(this.#eventsDir, { recursive: true, force: true })
    if (this.#random.chance(0.01)) {
      this.#traits.add('no store')
      return { cursor: this.#cursor(), traits: this.#traits }
    }
    mkdirSync(this.#eventsDir, { recursive: true })
    this.#segments()
    for (const { name, bytes } of this.#journal.checkpoints) {
      const place = this.#random.chance(0.7) ? 'checkpoints' : 'archive'
      if (this.#random.chance(0.95)) this.#file(join(place, name), bytes)
    }
    for (const [digest, bytes] of this.#journal.blobs)
      this.#file(join('blobs', digest.slice(0, 2), digest), bytes)
    this.#junk()
    return { cursor: this.#cursor(), traits: this.#traits }
  }

  #segments(): void {
    const random = this.#random
    const { segments, checkpoints } = this.#journal
    const gone = random.chance(0.2) ? random.int(segments.length) : 0
    const parked = random.chance(0.4) ? random.between(gone, Math.max(gone, segments.length - 1)) : gone
    // A checkpoint is true of the whole history only.
    const mayMiss = checkpoints.length === 0 && random.chance(0.05)
    for (const [at, segment] of segments.entries()) {
      if (at < gone) this.#lose(segment)
      else if (mayMiss && at > 0 && at < segments.length - 1 && random.chance(0.3))
        this.#traits.add('hole in files')
      else if (at < parked) this.#park(segment)
      else this.#live(segment)
    }
  }

  #lose({ number, bytes }: MadeSegment): void {
    this.#traits.add('history gone')
    const packed = gzipSync(bytes)
    if (this.#random.chance(0.3))
      this.#file(join('archive', `${nameOf(number)}.gz`), packed.subarray(0, this.#random.int(packed.length)))
  }

  #park({ number, bytes }: MadeSegment): void {
    const name = join('archive', nameOf(number))
    const kind = this.#random.pick(['plain', 'gzip', 'both', 'spoiltGzip'])
    this.#traits.add(`archive ${kind}`)
    if (kind !== 'gzip') this.#file(name, bytes)
    if (kind === 'gzip' || kind === 'both') this.#file(`${name}.gz`, gzipSync(bytes))
    if (kind === 'spoiltGzip') this.#file(`${name}.gz`, Buffer.from('no gzip'))
  }

  #live({ number, bytes }: MadeSegment): void {
    this.#file(nameOf(number), bytes)
    if (!this.#random.chance(0.05)) return
    this.#traits.add('archive shadowed')
    const other = this.#random.pick([bytes, bytes.subarray(0, bytes.length >> 1), Buffer.from('{"v":2}\n')])
    this.#file(join('archive', nameOf(number)), other)
  }

  #junk(): void {
    const random = this.#random
    const file = (name: string, text: string | Buffer = '{"v":2,"seq":1}\n'): void => this.#file(name, text)
    const some = Buffer.from(this.#journal.segments[0]?.bytes ?? '')
    if (random.chance(0.6)) {
      const lies = ['{', 'null', '{"next_seq":7,"project_id":"x","active_segment":"seg-00000009.jsonl"}', '']
      file('meta.json', random.pick(lies))
    }
    if (random.chance(0.15)) {
      this.#traits.add('misnamed')
      const names = ['seg-1.jsonl', 'seg-00000000.jsonl', 'seg-00000001.jsonl.bak', 'seg-000000001.jsonl']
      for (const name of [...names, 'seg-00000001.jsonl.gz', 'seg-.jsonl', 'seg-00000001.jsonlx'])
        if (random.chance(0.4)) file(name, some)
    }
    if (random.chance(0.15)) {
      this.#traits.add('junk')
      const names = [
        'notes.txt',
        '.seg-00000002.jsonl.tmp',
        'SEG-00000002.jsonl',
        'seg-00000002.json',
        'x.jsonl',
      ]
      for (const name of [...names, 'checkpoints/ckpt-1.json', 'checkpoints/.ckpt-00000001.json.tmp'])
        if (random.chance(0.4)) file(name, some)
      for (const name of ['archive/seg-1.jsonl', 'archive/x', 'quarantine/seg-00000001.jsonl', 'blobs/zz/y'])
        if (random.chance(0.4)) file(name, some)
    }
    // A link is never followed, whatever it is called.
    if (random.chance(0.05) && this.#journal.segments.length > 1) {
      const [first, second] = this.#journal.segments
      if (first !== undefined && second !== undefined && second.number > first.number + 1) {
        this.#traits.add('link')
        const target = join(this.#eventsDir, '..', 'elsewhere')
        writeFileSync(target, some)
        symlinkSync(target, join(this.#eventsDir, nameOf(first.number + 1)))
      }
    }
    // One that hides the end: nobody can say what stands behind it.
    if (random.chance(0.05)) {
      this.#traits.add('end hidden')
      const newest = this.#journal.segments.at(-1)?.number ?? 0
      symlinkSync('nowhere', join(this.#eventsDir, nameOf(newest + 1 + random.int(9))))
    }
  }

  #cursor(): MadeCursor | undefined {
    const random = this.#random
    const { known, head } = this.#journal
    const kind = random.weighted({
      none: 5,
      there: 5,
      otherWriter: 2,
      anyWriter: 1,
      above: 1,
      within: 2,
      zero: 1,
    })
    this.#traits.add(`cursor ${kind}`)
    const writer = `w_${random.between(1, 99)}-gone`
    const checkpoint_seq = random.int(head + 1)
    if (kind === 'none') return undefined
    if (kind === 'zero') return { checkpoint_seq: 0, seq: 0, writer: null }
    if (kind === 'within') return { checkpoint_seq, seq: random.int(head + 1), writer: null }
    if (known.length === 0) return { checkpoint_seq, seq: random.int(9), writer }
    const record = random.pick(known)
    const seq = kind === 'above' ? head + random.between(1, 9) : record.seq
    if (kind === 'anyWriter') return { checkpoint_seq, seq, writer: null }
    return { checkpoint_seq, seq, writer: kind === 'otherWriter' ? writer : (record.writer ?? null) }
  }

  #file(name: string, content: string | Buffer): void {
    const path = join(this.#eventsDir, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
  }
}

function nameOf(number: number): string {
  return `seg-${String(number).padStart(8, '0')}.jsonl`
}
