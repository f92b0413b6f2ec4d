/** A random journal directory: segments live and archived, checkpoints true and false, blobs, junk. */
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { foldNaively } from '../conformance/naive/naive-reader.js'
import type { Rules } from '../conformance/naive/rules.js'
import type { Prng } from '../kit/index.js'
import { changeWriter, lineOf, note, oddLine, randomRecord, runLines, type World } from './random-lines.js'

interface Segment {
  readonly number: number
  readonly bytes: Buffer
}

/** Writes a journal into an empty directory; gives a cursor to open it with, if one. */
export function writeRandomJournal(
  rng: Prng,
  eventsDir: string,
  rules: Rules,
): { readonly seq: number; readonly checkpoint_seq: number; readonly writer: string | null } | undefined {
  rmSync(eventsDir, { recursive: true, force: true })
  mkdirSync(eventsDir, { recursive: true })
  const world: World = {
    rng,
    seq: 0,
    writer: 'w_1-aa',
    project: rng.hex(16),
    blobs: new Map(),
    refs: [],
    floor: 0,
  }
  const isOurs = rng.chance(0.6)
  const segments: Segment[] = []
  const count = rng.weighted({ 1: 3, 2: 3, 4: 2 })
  for (let i = 0; i < Number(count); i++) {
    const number =
      i === 0
        ? rng.chance(0.8)
          ? 1
          : rng.between(2, 9)
        : Math.max(world.seq + 1, (segments[i - 1] as Segment).number + 1)
    if (i === 0) world.seq = number - 1
    segments.push({ number, bytes: segmentBytes(world, isOurs, i, Number(count)) })
    if (i + 1 < Number(count) && rng.chance(0.4)) checkpoint(world, eventsDir, segments, rules)
  }
  const put = (path: string, content: string | Buffer): void => {
    mkdirSync(dirname(join(eventsDir, path)), { recursive: true })
    writeFileSync(join(eventsDir, path), content)
  }
  // Only a beginning of history can be gone: a hole in the middle is no history of anything.
  const gone = rng.chance(0.3) ? rng.int(segments.length) : 0
  segments.forEach((segment, i) => {
    place(rng, put, segment, i === segments.length - 1 ? 'newest' : i < gone ? 'gone' : 'older')
  })
  for (const [sha256, content] of world.blobs)
    if (content) put(`blobs/${sha256.slice(0, 2)}/${sha256}`, content)
  junk(rng, put, world)
  if (rng.chance(0.3)) return undefined
  return {
    seq:
      rng.weighted({ inside: 8, above: 1, zero: 1 }) === 'inside'
        ? rng.between(0, world.seq)
        : rng.pick([0, world.seq + 3]),
    checkpoint_seq: 0,
    writer: rng.pick([null, 'w_1-aa', 'w_2-bb', 'w_9-zz']),
  }
}

function segmentBytes(world: World, isOurs: boolean, index: number, count: number): Buffer {
  const { rng } = world
  const lines: Buffer[] = []
  const own: Buffer[] = []
  const push = (line: Buffer): void => {
    lines.push(line)
    own.push(line)
  }
  if (rng.chance(0.05)) push(Buffer.from('\ufeff'))
  const begins = index === 0 ? 'genesis' : 'segment_sealed'
  if (isOurs && rng.chance(0.95)) push(lineOf(rng, note(world, begins, { project_id: world.project })))
  for (const ref of world.refs.splice(0)) push(lineOf(rng, note(world, 'checkpoint_ref', ref)))
  const records = rng.between(0, 25)
  for (let i = 0; i < records; i++) {
    changeWriter(world)
    switch (rng.weighted({ record: 80, odd: 8, run: 6, repeat: 4, note: 4 })) {
      case 'odd':
        push(oddLine(world, lineOf(rng, randomRecord(world))))
        break
      case 'run':
        for (const line of runLines(world)) push(line)
        break
      case 'repeat':
        if (own.length > 0) push(rng.pick(own))
        break
      case 'note':
        push(lineOf(rng, randomNote(world)))
        break
      default:
        push(lineOf(rng, randomRecord(world)))
    }
  }
  const text = Buffer.concat(lines.flatMap(line => [line, Buffer.from('\n')]))
  const isNewest = index === count - 1
  // Torn in the newest segment mostly, and now and then where nobody will ever end it.
  if (!rng.chance(isNewest ? 0.4 : 0.05)) return text
  return Buffer.concat([text, lineOf(rng, randomRecord(world)).subarray(0, rng.int(300))])
}

function randomNote(world: World): Record<string, unknown> {
  const { rng } = world
  const from = Math.max(1, world.seq - rng.between(0, 4))
  return rng.pick([
    () => note(world, 'registry_genesis', { mode: 'all' }),
    () => note(world, 'producer_started', { pid: 1 }),
    () => note(world, 'seq_repair', { from, to: from + rng.int(4), reason: 'x' }),
    () => note(world, 'store_marker', { text: 'registry_genesis' }),
    () =>
      note(world, 'checkpoint_ref', {
        file: 'ckpt-00000001.json',
        sha256: 'x',
        bytes: 1,
        head_seq: 1,
        entities: 0,
      }),
  ])()
}

/**
 * A checkpoint of what the segments so far come to, as a writer of one ascending journal would make it, and the
 * ref to it at the head of the next segment; now and then false in one thing.
 */
function checkpoint(world: World, eventsDir: string, segments: readonly Segment[], rules: Rules): void {
  const { rng } = world
  const scratch = `${eventsDir}-prefix`
  rmSync(scratch, { recursive: true, force: true })
  mkdirSync(scratch, { recursive: true })
  for (const segment of segments)
    place(rng, (path, content) => writeFileSync(join(scratch, path), content), segment, 'newest')
  const state = foldNaively(scratch, rules)
  const last = segments.at(-1) as Segment
  // A checkpoint's head is the last line of a sealed segment and the highest of all: only such a prefix has one.
  const isWhole =
    state.last !== undefined && state.last.seq === state.head.seq && state.head.seq >= last.number
  if (!isWhole || state.head.seq > world.seq) return
  const entities = state.entities.map(entity => JSON.stringify(entity))
  const isFalse = rng.chance(0.25)
  const header = JSON.stringify({
    capabilities: state.registryAuthoritative ? ['registry_genesis'] : [],
    chain: { segment: `seg-${String(last.number).padStart(8, '0')}.jsonl`, sha256: '0'.repeat(64) },
    entity_count: entities.length + (isFalse && rng.chance(0.3) ? 1 : 0),
    head_seq: state.head.seq,
    head_writer: state.head.writer,
    keys: [],
    project_id: isFalse && rng.chance(0.3) ? 'another' : world.project,
    revisions: state.revisions,
  }).slice(1, -1)
  const document = Buffer.from(
    `{"checkpoint":1,${header},"entities":[\n${entities.map((e, i) => `${e}${i + 1 < entities.length ? ',' : ''}\n`).join('')}]}\n`,
  )
  const name = `ckpt-${String(state.head.seq).padStart(8, '0')}.json`
  const folder = join(eventsDir, rng.chance(0.85) ? 'checkpoints' : 'archive')
  mkdirSync(folder, { recursive: true })
  const sha256 = createHash('sha256').update(document).digest('hex')
  writeFileSync(
    join(folder, name),
    isFalse && rng.chance(0.5) ? Buffer.concat([document, Buffer.from(' ')]) : document,
  )
  world.floor = state.head.seq
  world.refs.push({
    file: name,
    sha256,
    bytes: document.length,
    head_seq: state.head.seq,
    entities: entities.length,
  })
}

function place(
  rng: Prng,
  put: (path: string, content: Buffer) => void,
  { number, bytes }: Segment,
  fate: 'newest' | 'older' | 'gone',
): void {
  const name = `seg-${String(number).padStart(8, '0')}.jsonl`
  if (fate === 'newest') {
    put(name, bytes)
    return
  }
  if (fate === 'gone') {
    if (rng.chance(0.2)) put(`archive/${name}.gz`, gzipSync(bytes).subarray(0, 20))
    return
  }
  switch (rng.weighted({ live: 5, plain: 2, gzip: 2, both: 1 })) {
    case 'plain':
      put(`archive/${name}`, bytes)
      break
    case 'gzip':
      put(`archive/${name}.gz`, gzipSync(bytes))
      break
    case 'both':
      put(name, bytes)
      put(`archive/${name}.gz`, gzipSync(Buffer.from('{"not":"read"}\n')))
      break
    default:
      put(name, bytes)
  }
}

function junk(rng: Prng, put: (path: string, content: string) => void, world: World): void {
  if (rng.chance(0.3))
    put(
      'meta.json',
      JSON.stringify({
        project_id: rng.pick([world.project, 'lies']),
        next_seq: rng.int(999),
        active_segment: 'seg-00000001.jsonl',
        entity_revs: {},
      }),
    )
  if (rng.chance(0.1)) put('meta.json', 'nonsense')
  for (const name of [
    'seg-1.jsonl',
    'seg-000000001.jsonl',
    'seg-00000000.jsonl',
    'seg-00000002.jsonl~',
    '.tmp-seg-00000003.jsonl',
    'notes.txt',
  ]) {
    if (rng.chance(0.05)) put(name, '{"v":2,"seq":1,"action":"create"}\n')
  }
  if (rng.chance(0.05)) put('checkpoints/ckpt-00000001.json', rng.pick(['', '{}', '{"checkpoint":2}', '[]']))
  if (rng.chance(0.05)) put('archive/ckpt-99999999.json', 'x')
  if (rng.chance(0.05)) put('quarantine/seg-00000001.jsonl', 'x')
}
