import { canonicalJson, sha256 } from './canonical.js'
import { instant, type More, ours } from './lines.js'
import { river1 } from './vector.js'

// What only our writer writes: notes, seals and checkpoints. A journal with these is native, so `verify`
// judges it in full; one without them is foreign.

/** The project of every native vector. */
export const project = '0123456789abcdef0123456789abcdef'

/** A journal note. */
export function note(seq: number, kind: string, payload: More, more: More = {}): string {
  return ours(seq, 'journal_note', 'journal', kind, 0, {
    agent: 'kim',
    payload: { kind, schema_version: 1, ...payload },
    summary: kind,
    ...more,
  })
}

/** The first record of a native journal. */
export function genesis(seq = 1, more: More = {}): string {
  return note(
    seq,
    'genesis',
    { created: instant(seq), project_id: project, source: 'http://localhost:7474' },
    more,
  )
}

/** What a producer says when it begins to append. */
export function producerStarted(seq: number, more: More = {}): string {
  return note(
    seq,
    'producer_started',
    { node: 'v20.19.0', pid: 101, platform: 'linux', version: '0.1.0' },
    more,
  )
}

/** The first record of a segment, about the bytes of the one before. */
export function sealed(
  seq: number,
  segment: string,
  content: string | Uint8Array,
  firstSeq: number,
  lastSeq: number,
  payload: More = {},
): string {
  return note(seq, 'segment_sealed', {
    bytes: Buffer.byteLength(content),
    first_seq: firstSeq,
    last_seq: lastSeq,
    project_id: project,
    segment,
    sha256: sha256(content),
    ...payload,
  })
}

/** What names the numbers that were skipped. */
export function seqRepairLine(seq: number, from: unknown, to: unknown, more: More = {}): string {
  return ours(seq, 'seq_repair', 'journal', 'seq_repair', 0, {
    agent: 'kim',
    payload: { from, reason: 'announced and lost', schema_version: 1, to },
    summary: 'seq_repair',
    ...more,
  })
}

/** One entity of a checkpoint, in its line's own fields. */
export type CheckpointEntity = readonly [
  type: string,
  id: string,
  rev: number,
  payload: object,
  seq: number,
  more?: More,
]

export interface CheckpointParts {
  readonly head: number
  readonly chain: { readonly segment: string; readonly sha256: string }
  readonly entities: readonly CheckpointEntity[]
  /** Header members that differ from the usual. */
  readonly header?: More
  /** The lists of the header stand as a writer lays them out, an entry a line, and not in one line. */
  readonly isLaidOut?: boolean
}

/** A checkpoint document, line by line; entities in the order they are given. */
export function checkpoint(parts: CheckpointParts): string {
  const header = canonicalJson({
    capabilities: [],
    chain: parts.chain,
    entity_count: parts.entities.length,
    head_seq: parts.head,
    head_writer: river1,
    keys: [],
    project_id: project,
    revisions: [],
    ...parts.header,
  })
  const version = parts.header?.['checkpoint'] ?? 1
  const inOneLine = header.slice(1, -1).replace(/"checkpoint":\d+,/, '')
  const members =
    parts.isLaidOut === true
      ? inOneLine.replaceAll('[[', '[\n[').replaceAll('],[', '],\n[').replaceAll(']]', ']\n]')
      : inOneLine
  const lines = parts.entities.map(([type, id, rev, payload, seq, more = {}]) =>
    canonicalJson({
      agent: 'river',
      entity_rev: rev,
      item_id: id,
      item_type: type,
      payload,
      seq,
      ts: instant(seq),
      ...more,
    }),
  )
  return `{"checkpoint":${version},${members},"entities":[\n${lines.join(',\n')}${lines.length > 0 ? '\n' : ''}]}\n`
}

/** The record that vouches for a checkpoint. */
export function checkpointRefLine(
  seq: number,
  file: string,
  content: string,
  head: number,
  entities: number,
  payload: More = {},
): string {
  return ours(seq, 'checkpoint_ref', 'journal', 'checkpoint_ref', 0, {
    agent: 'kim',
    payload: {
      bytes: Buffer.byteLength(content),
      entities,
      file,
      head_seq: head,
      schema_version: 1,
      sha256: sha256(content),
      ...payload,
    },
    summary: 'checkpoint_ref',
  })
}
