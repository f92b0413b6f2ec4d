import { canonicalJson, sha256 } from './canonical.js'
import { gzipStored } from './gzip.js'
import { bytes, instant, type More, mail, ours, plainPayload } from './lines.js'
import {
  type CheckpointEntity,
  checkpoint,
  checkpointRefLine,
  genesis,
  note,
  producerStarted,
  sealed,
} from './native.js'
import { type Facts, type Files, live, liveRef, river2, type Vector } from './vector.js'

// One native journal of three segments, with a checkpoint of the first and one of the first two; what differs
// is which of their files are still there, and what has become of them.

const inbox = { message: ['attention', 'inbox'] }
const seg1 = 'seg-00000001.jsonl'
const seg5 = 'seg-00000005.jsonl'
const seg9 = 'seg-00000009.jsonl'
const ckpt4 = 'ckpt-00000004.json'
const ckpt8 = 'ckpt-00000008.json'

const body = (id: number, read = false): Record<string, unknown> => mail(id, `mail ${id}`, read)
const arrives = (seq: number, id: number): string =>
  ours(seq, 'create', 'message', `river/${id}`, 1, { event: 'new', payload: body(id) })
const stands = (id: number, rev: number, seq: number, read = false): CheckpointEntity => [
  'message',
  `river/${id}`,
  rev,
  body(id, read),
  seq,
]

const first =
  genesis() +
  producerStarted(2) +
  ours(3, 'backfill', 'message', 'river/1', 1, { payload: body(1) }) +
  arrives(4, 2)
const older = checkpoint({
  head: 4,
  chain: { segment: seg1, sha256: sha256(first) },
  entities: [stands(1, 1, 3), stands(2, 1, 4)],
})

/** The second segment, with the ref to the older checkpoint. */
const second =
  sealed(5, seg1, first, 1, 4) +
  checkpointRefLine(6, ckpt4, older, 4, 2) +
  ours(7, 'update', 'message', 'river/1', 2, { payload: body(1, true) }) +
  arrives(8, 3)

const newerParts = {
  head: 8,
  chain: { segment: seg5, sha256: sha256(second) },
  entities: [stands(1, 2, 7, true), stands(2, 1, 4), stands(3, 1, 8)],
}
const newer = checkpoint(newerParts)

/** The third segment, with a ref to a checkpoint of the first two. */
const third = (referred: string = newer, entities = 3, payload: More = {}): string =>
  sealed(9, seg5, second, 5, 8) +
  checkpointRefLine(10, ckpt8, referred, 8, entities, payload) +
  arrives(11, 4)

const message = (id: number, rev: number, read = false) => live('message', `river/${id}`, rev, body(id, read))
const everything = [message(1, 2, true), message(2, 1), message(3, 1), message(4, 1)]

/** What a reader of the whole history finds. */
const whole: Facts = { live: everything, head: 11, checkpoint: 8, activity: [4, 8, 11], sections: inbox }

const segments: Files = { [seg1]: first, [seg5]: second, [seg9]: third() }

/** The whole history, where the newer checkpoint is not what it should be. */
const rejected = (
  name: string,
  shows: string,
  cites: readonly string[],
  verify: number,
  file: string | Uint8Array,
  referred: string,
): Vector => ({
  name,
  shows,
  cites,
  files: {
    [seg1]: first,
    [seg5]: second,
    [seg9]: third(referred),
    [`checkpoints/${ckpt4}`]: older,
    [`checkpoints/${ckpt8}`]: file,
  },
  facts: { ...whole, checkpoint: 4, anomalies: { checkpoint_rejected: 1 }, verify },
})

const altered = (header: More): string => checkpoint({ ...newerParts, header })

export const checkpointVectors: readonly Vector[] = [
  {
    name: 'checkpoints',
    shows:
      'two good checkpoints beside the whole history: the newer one is in the cursor, nothing else differs',
    cites: ['C7', 'OB-8', 'OB-40', 'JF-67'],
    files: { ...segments, [`checkpoints/${ckpt4}`]: older, [`checkpoints/${ckpt8}`]: newer },
    facts: whole,
  },
  {
    name: 'checkpoint-and-archived-segment',
    shows: 'the segments below the second-newest checkpoint are in the archive: the same journal',
    cites: ['C7', 'G5', 'JF-70'],
    files: {
      [`archive/${seg1}`]: first,
      [seg5]: second,
      [seg9]: third(),
      [`checkpoints/${ckpt4}`]: older,
      [`checkpoints/${ckpt8}`]: newer,
    },
    facts: whole,
  },
  {
    name: 'checkpoint-and-gzipped-segment',
    shows: 'and in the archive gzipped',
    cites: ['C7', 'G5', 'JF-71', 'JF-77'],
    files: {
      [`archive/${seg1}.gz`]: gzipStored(bytes(first)),
      [seg5]: second,
      [seg9]: third(),
      [`checkpoints/${ckpt4}`]: older,
      [`checkpoints/${ckpt8}`]: newer,
    },
    facts: whole,
  },
  {
    name: 'checkpoint-and-archive-deleted',
    shows: 'what the newest checkpoint covers is gone in part: state begins with it, the scan after its head',
    cites: ['C7', 'OB-8', 'JF-68', 'JF-69'],
    files: {
      [seg5]: second,
      [seg9]: third(),
      [`checkpoints/${ckpt4}`]: older,
      [`checkpoints/${ckpt8}`]: newer,
    },
    facts: { ...whole, activity: [11] },
  },
  {
    name: 'checkpoint-and-only-the-newest-segment',
    shows: 'the segment of its head is gone too: the tail is what stands in the segments above it',
    cites: ['C7', 'JF-68'],
    files: { [seg9]: third(), [`checkpoints/${ckpt8}`]: newer },
    facts: { ...whole, activity: [11] },
  },
  {
    name: 'checkpoint-archived',
    shows: 'a parked checkpoint is a candidate too',
    cites: ['C7', 'JF-67'],
    files: { [seg5]: second, [seg9]: third(), [`archive/${ckpt4}`]: older, [`archive/${ckpt8}`]: newer },
    facts: { ...whole, activity: [11] },
  },
  {
    name: 'checkpoint-newer-corrupt',
    shows: 'the newer of two is corrupt and history begins late: the older one carries',
    cites: ['C5', 'C7', 'RC-14', 'OB-8'],
    files: {
      [seg5]: second,
      [seg9]: third(),
      [`checkpoints/${ckpt4}`]: older,
      [`checkpoints/${ckpt8}`]: newer.replace('mail 2', 'mail X'),
    },
    facts: {
      ...whole,
      checkpoint: 4,
      activity: [8, 11],
      anomalies: { checkpoint_rejected: 1 },
      verify: 6,
    },
  },
  rejected(
    'checkpoint-with-another-hash',
    'a checkpoint whose bytes are not those its ref names',
    ['C5', 'RC-15'],
    6,
    newer.replace('mail 3', 'mail Y'),
    newer,
  ),
  rejected(
    'checkpoint-torn',
    'a checkpoint that ends too early',
    ['C1', 'RC-15'],
    6,
    newer.slice(0, newer.length - 100),
    newer,
  ),
  rejected(
    'checkpoint-not-json',
    'a checkpoint that is not JSON, although its ref has its hash',
    ['C1'],
    6,
    'x\n',
    'x\n',
  ),
  {
    name: 'checkpoint-orphaned',
    shows: 'a checkpoint that no ref names (a crash between the two): rejected, and no damage',
    cites: ['C4', 'RC-15'],
    files: {
      [seg1]: first,
      [seg5]: second,
      [seg9]: sealed(9, seg5, second, 5, 8) + arrives(10, 4),
      [`checkpoints/${ckpt4}`]: older,
      [`checkpoints/${ckpt8}`]: newer,
    },
    facts: { ...whole, head: 10, activity: [4, 8, 10], checkpoint: 4, anomalies: { checkpoint_rejected: 1 } },
  },
  rejected(
    'checkpoint-of-another-project',
    'a checkpoint that agrees with its ref and belongs to another project',
    ['C3', 'RC-15'],
    6,
    altered({ project_id: 'f'.repeat(32) }),
    altered({ project_id: 'f'.repeat(32) }),
  ),
  rejected(
    'checkpoint-of-a-later-version',
    'a checkpoint of a later version, although its ref has its hash',
    ['C2'],
    6,
    altered({ checkpoint: 2 }),
    altered({ checkpoint: 2 }),
  ),
  rejected(
    'checkpoint-with-another-count',
    'a checkpoint whose header announces another number of entities',
    ['C6'],
    6,
    altered({ entity_count: 2 }),
    altered({ entity_count: 2 }),
  ),
  rejected(
    'checkpoint-with-another-head',
    'a checkpoint whose header has another head than its name',
    ['C1'],
    6,
    altered({ head_seq: 7 }),
    altered({ head_seq: 7 }),
  ),
  {
    name: 'checkpoint-ref-counts-otherwise',
    shows: 'a ref with the right hash and another number of entities',
    cites: ['C6'],
    files: {
      [seg1]: first,
      [seg5]: second,
      [seg9]: third(newer, 4),
      [`checkpoints/${ckpt4}`]: older,
      [`checkpoints/${ckpt8}`]: newer,
    },
    facts: { ...whole, checkpoint: 4, anomalies: { checkpoint_rejected: 1 }, verify: 6 },
  },
  {
    name: 'checkpoint-from-the-future',
    shows:
      'a checkpoint whose head the journal has not reached: its ref stands before it, so it has none; it was made, so what it covers is gone',
    cites: ['C4', 'JF-67'],
    files: (() => {
      const ahead = checkpoint({ ...newerParts, head: 9000, header: { head_seq: 9000 } })
      return {
        [seg1]: first,
        [seg5]: second,
        [seg9]:
          sealed(9, seg5, second, 5, 8) +
          checkpointRefLine(10, 'ckpt-00009000.json', ahead, 9000, 3) +
          arrives(11, 4),
        [`checkpoints/${ckpt4}`]: older,
        'checkpoints/ckpt-00009000.json': ahead,
      }
    })(),
    facts: { ...whole, checkpoint: 4, anomalies: { checkpoint_rejected: 1 }, verify: 5 },
  },
  {
    name: 'checkpoint-none-verified',
    shows: 'no candidate verifies and history begins late: state is incomplete, and takes nothing from them',
    cites: ['C4', 'C5', 'RC-14', 'RC-15'],
    files: {
      [seg9]: sealed(9, seg5, second, 5, 8) + arrives(10, 4),
      [`checkpoints/${ckpt4}`]: older,
      [`checkpoints/${ckpt8}`]: newer,
    },
    facts: {
      live: [message(4, 1)],
      head: 10,
      anomalies: { checkpoint_rejected: 2 },
      activity: [10],
      sections: inbox,
      status: 'incomplete',
    },
  },
  {
    name: 'checkpoint-below-what-is-gone',
    shows: 'a verified checkpoint that does not reach the first segment: in the cursor, and no base',
    cites: ['C7', 'OB-8', 'OB-40'],
    files: {
      [seg9]: sealed(9, seg5, second, 5, 8) + checkpointRefLine(10, ckpt4, older, 4, 2) + arrives(11, 4),
      [`checkpoints/${ckpt4}`]: older,
    },
    facts: {
      live: [message(4, 1)],
      head: 11,
      checkpoint: 4,
      activity: [11],
      sections: inbox,
      status: 'incomplete',
    },
  },
  (() => {
    const wrong = checkpoint({
      ...newerParts,
      entities: [['message', 'river/1', 2, mail(1, 'forged', true), 7], stands(2, 1, 4), stands(3, 1, 8)],
    })
    return {
      name: 'checkpoint-is-not-the-fold',
      shows: 'a checkpoint that its ref vouches for and the history does not: corruption to verify',
      cites: ['C7', 'JF-69'],
      files: {
        [seg1]: first,
        [seg5]: second,
        [seg9]:
          third(wrong) +
          ours(12, 'update', 'message', 'river/1', 3, { payload: mail(1, 'since then', true) }),
        [`checkpoints/${ckpt4}`]: older,
        [`checkpoints/${ckpt8}`]: wrong,
      },
      facts: {
        ...whole,
        live: [live('message', 'river/1', 3, mail(1, 'since then', true)), ...everything.slice(1)],
        head: 12,
        verify: 6,
      },
    }
  })(),
  ...[false, true].map(isLaidOut => {
    const start =
      genesis() +
      ours(2, 'create', 'binding', 'x', 1, {
        payload: plainPayload('x'),
        ...(isLaidOut ? { key: 'first' } : {}),
      }) +
      ours(3, 'create', 'binding', 'y', 1, { payload: plainPayload('y') }) +
      ours(4, 'delete', 'binding', 'x', 2) +
      ours(5, 'delete', 'binding', 'y', 2)
    const file = checkpoint({
      head: 5,
      chain: { segment: seg1, sha256: sha256(start) },
      entities: [],
      header: {
        revisions: [
          ['binding', 'x', 2],
          ['binding', 'y', 2],
        ],
        ...(isLaidOut ? { keys: [['first', 2, instant(2)]] } : {}),
      },
      isLaidOut,
    })
    return {
      name: isLaidOut ? 'checkpoint-header-of-many-lines' : 'checkpoint-of-nothing-but-revisions',
      shows: isLaidOut
        ? 'keys and revisions stand one a line, and the header ends with the line that opens the entities'
        : 'a base without entities: the revisions of what was removed are known from it',
      cites: isLaidOut ? ['C7', 'JF-63', 'JF-67'] : ['C7', 'JF-49', 'OB-8'],
      files: {
        'seg-00000006.jsonl':
          sealed(6, seg1, start, 1, 5) +
          checkpointRefLine(7, 'ckpt-00000005.json', file, 5, 0) +
          ours(8, 'create', 'binding', 'x', 3, { payload: plainPayload('x again') }) +
          ours(9, 'create', 'binding', 'y', 4, { payload: plainPayload('y again') }),
        'checkpoints/ckpt-00000005.json': file,
      },
      facts: {
        live: [
          live('binding', 'x', 3, plainPayload('x again')),
          live('binding', 'y', 4, plainPayload('y again')),
        ],
        head: 9,
        checkpoint: 5,
        anomalies: { entity_rev_jump: 1 },
        sections: { binding: ['roster'] },
        verify: 6,
      },
    }
  }),
  (() => {
    const blob = canonicalJson(body(1))
    const ref = { bytes: Buffer.byteLength(blob), sha256: sha256(blob) }
    const start =
      genesis() +
      ours(2, 'create', 'message', 'river/1', 1, { payload_ref: ref }) +
      ours(3, 'create', 'message', 'river/2', 1, { payload_ref: ref })
    const inBlob = (id: string, seq: number): string =>
      canonicalJson({
        agent: 'river',
        entity_rev: 1,
        item_id: id,
        item_type: 'message',
        payload_ref: ref,
        seq,
        ts: instant(seq),
      })
    const file = checkpoint({
      head: 3,
      chain: { segment: seg1, sha256: sha256(start) },
      entities: [],
      header: { entity_count: 2 },
    }).replace(']}\n', `${inBlob('river/1', 2)},\n${inBlob('river/2', 3)}\n]}\n`)
    return {
      name: 'checkpoint-with-payloads-in-blobs',
      shows: 'entities of a base whose payloads are in blobs are live, and their blobs are read',
      cites: ['C7', 'JF-53', 'JF-64'],
      files: {
        'seg-00000004.jsonl':
          sealed(4, seg1, start, 1, 3) +
          checkpointRefLine(5, 'ckpt-00000003.json', file, 3, 2) +
          ours(6, 'delete', 'message', 'river/2', 2),
        'checkpoints/ckpt-00000003.json': file,
        [`blobs/${ref.sha256.slice(0, 2)}/${ref.sha256}`]: blob,
      },
      facts: {
        live: [liveRef('message', 'river/1', 1, ref.sha256)],
        head: 6,
        checkpoint: 3,
        sections: inbox,
      },
    }
  })(),
  {
    name: 'checkpoint-written-twice',
    shows: 'a checkpoint built again after a crash has a second ref: either vouches for it',
    cites: ['C4', 'C7'],
    files: {
      [seg1]: first,
      [seg5]: second,
      [seg9]:
        third(newer.replace('mail 3', 'mail Z')) +
        checkpointRefLine(12, ckpt8, newer, 8, 3).replace('w_101-a1b2c3', river2),
      [`checkpoints/${ckpt4}`]: older,
      [`checkpoints/${ckpt8}`]: newer,
    },
    facts: { ...whole, head: 12, writer: river2 },
  },
  {
    name: 'checkpoint-ref-without-effect',
    shows: 'a ref inside a run that never became whole vouches for nothing',
    cites: ['C4', 'JF-41'],
    files: {
      [seg1]: first,
      [seg5]: second,
      [seg9]:
        sealed(9, seg5, second, 5, 8) +
        checkpointRefLine(10, ckpt8, newer, 8, 3).replace('"v":2', '"tx":{"i":1,"id":"x","n":2},"v":2') +
        note(11, 'tx_abandoned', {
          first_seq: 10,
          last_seq: 10,
          n: 2,
          records: 1,
          segment: seg9,
          tx_id: 'x',
        }) +
        arrives(12, 4),
      [`checkpoints/${ckpt4}`]: older,
      [`checkpoints/${ckpt8}`]: newer,
    },
    facts: {
      ...whole,
      head: 12,
      checkpoint: 4,
      activity: [4, 8, 12],
      anomalies: { checkpoint_rejected: 1, tx_incomplete: 1 },
    },
  },
  {
    name: 'checkpoint-and-cursor-below-its-head',
    shows: 'hand-over looks at every segment there is, also before the checkpoint that state begins with',
    cites: ['U5', 'OB-63'],
    files: {
      [seg5]: second,
      [seg9]: third(),
      [`checkpoints/${ckpt4}`]: older,
      [`checkpoints/${ckpt8}`]: newer,
    },
    cursor: { checkpoint_seq: 4, seq: 6, writer: 'w_101-a1b2c3' },
    facts: {
      ...whole,
      activity: [11],
      news: [
        [8, 'mail'],
        [11, 'mail'],
      ],
    },
  },
  {
    name: 'checkpoint-and-cursor-below-the-oldest-segment',
    shows: 'state is whole and the records in between were still never handed over: a gap',
    cites: ['U7', 'OB-47'],
    files: { [seg9]: third(), [`checkpoints/${ckpt8}`]: newer },
    cursor: { checkpoint_seq: 4, seq: 4, writer: 'w_101-a1b2c3' },
    facts: {
      ...whole,
      activity: [11],
      gap: { from: 5, reason: 'archived', to: 8 },
      news: [[11, 'mail']],
    },
  },
]
