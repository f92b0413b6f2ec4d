import { gzipStored } from './gzip.js'
import { bytes, foreign, mail, ours, plainPayload } from './lines.js'
import { genesis, project, sealed } from './native.js'
import { live, type Vector } from './vector.js'

// What stands in the directory: which files are segments, which are not, and which of two copies counts.

const inbox = { message: ['attention', 'inbox'] }
const traps = { trap: ['system', 'traps'] }
const one = 'seg-00000001.jsonl'

const trap = (seq: number): string =>
  foreign(seq, 'create', 'trap', { item_id: `t${seq}`, payload: plainPayload(`t${seq}`) })
const trapped = (seq: number) => live('trap', `t${seq}`, null, plainPayload(`t${seq}`))

const mailAt = (seq: number, id: number): string =>
  ours(seq, 'create', 'message', `river/${id}`, 1, { payload: mail(id, `mail ${id}`) })
const received = (id: number) => live('message', `river/${id}`, 1, mail(id, `mail ${id}`))

/** A native journal of one segment, head 2. */
const native = genesis() + mailAt(2, 1)

const withMeta = (name: string, shows: string, cites: readonly string[], meta: string): Vector => ({
  name,
  shows,
  cites,
  files: { 'meta.json': meta, [one]: native },
  facts: { live: [received(1)], head: 2, sections: inbox },
})

const metaOf = (members: Record<string, unknown>): string =>
  `${JSON.stringify({ active_segment: one, entity_revs: {}, next_seq: 3, project_id: project, ...members })}\n`

const older = trap(1) + trap(2)
const newer = trap(3)
/** The facts of a journal whose segments are `older` and `newer`. */
const both = { live: [1, 2, 3].map(trapped), head: 3, writer: null, sections: traps }

export const layoutVectors: readonly Vector[] = [
  {
    name: 'no-directory',
    shows: 'there is no events directory: no store',
    cites: ['F1', 'OB-64'],
    files: null,
    facts: { status: 'no_store', verify: 4 },
  },
  {
    name: 'no-segments',
    shows: 'a directory without a segment is an empty journal, and live',
    cites: ['F4', 'OB-51', 'JF-57'],
    files: { 'meta.json': metaOf({ next_seq: 5 }) },
    facts: {},
  },
  {
    name: 'empty-segment',
    shows: 'a segment of no bytes is an empty journal',
    cites: ['T7', 'R1', 'F8'],
    files: { [one]: '' },
    facts: {},
  },
  {
    name: 'empty-segment-after-another',
    shows: 'a roll that went no further than creating the file: the journal ends with the segment before',
    cites: ['T7', 'R2', 'F8', 'RC-12'],
    files: { [one]: native, 'seg-00000003.jsonl': '' },
    facts: { live: [received(1)], head: 2, sections: inbox },
  },
  {
    name: 'roll-torn-in-its-seal',
    shows: 'a roll that went as far as half a seal',
    cites: ['T9', 'R2'],
    files: { [one]: native, 'seg-00000003.jsonl': sealed(3, one, native, 1, 2).slice(0, 120) },
    facts: { live: [received(1)], head: 2, sections: inbox },
  },
  {
    name: 'roll-sealed-but-for-its-end',
    shows: 'a roll whose seal lacks nothing but its LF',
    cites: ['T8', 'R2'],
    files: { [one]: native, 'seg-00000003.jsonl': sealed(3, one, native, 1, 2).trimEnd() },
    facts: { live: [received(1)], head: 2, sections: inbox },
  },
  {
    name: 'rolled',
    shows: 'a finished roll: the new segment begins with the seal of the old one',
    cites: ['R3', 'R4', 'JF-58'],
    files: { [one]: native, 'seg-00000003.jsonl': sealed(3, one, native, 1, 2) + mailAt(4, 2) },
    facts: { live: [1, 2].map(received), head: 4, sections: inbox },
  },
  {
    name: 'barren-newest-segment',
    shows: 'a newest segment of blank, malformed and future lines holds no record; its lines still count',
    cites: ['T7', 'R2'],
    files: { [one]: trap(1), 'seg-00000002.jsonl': '\n  \nnoise\n{"v":3,"seq":2}\n' },
    facts: {
      live: [trapped(1)],
      head: 1,
      writer: null,
      anomalies: { future: 1, malformed: 1 },
      sections: traps,
      status: 'degraded',
    },
  },
  {
    name: 'segment-begins-without-a-seal',
    shows: 'a later segment of our own journal that begins with anything but the seal',
    cites: ['R9', 'JF-58', 'JF-60'],
    files: { [one]: native, 'seg-00000003.jsonl': mailAt(3, 2) },
    facts: { live: [1, 2].map(received), head: 3, sections: inbox, verify: 6 },
  },
  {
    name: 'segment-begins-with-a-hurt-seal',
    shows: 'the first line of the newest segment is no record any more: what follows it still counts',
    cites: ['R10', 'JF-58'],
    files: { [one]: native, 'seg-00000003.jsonl': `${mailAt(3, 9).slice(0, 40)}\n${mailAt(4, 2)}` },
    facts: {
      live: [1, 2].map(received),
      head: 4,
      anomalies: { malformed: 1, seq_hole: 1 },
      sections: inbox,
      verify: 6,
    },
  },
  {
    name: 'segment-begins-with-a-second-genesis',
    shows: 'a genesis in a later segment: no state effect, and no journal of one writer',
    cites: ['R8'],
    files: { [one]: native, 'seg-00000003.jsonl': genesis(3) + mailAt(4, 2) },
    facts: { live: [1, 2].map(received), head: 4, sections: inbox, verify: 6 },
  },
  {
    name: 'history-begins-at-a-seal',
    shows: 'the segments before a seal are gone and no checkpoint covers them: incomplete, not wrong',
    cites: ['R7', 'OB-5', 'OB-8', 'OB-67'],
    files: { 'seg-00000003.jsonl': sealed(3, one, native, 1, 2) + mailAt(4, 2) },
    facts: { live: [received(2)], head: 4, sections: inbox, status: 'incomplete' },
  },
  {
    name: 'history-begins-late-with-a-future-line',
    shows: 'incomplete wins over degraded and names both reasons',
    cites: ['OB-51', 'OB-52'],
    files: { 'seg-00000003.jsonl': `${trap(3)}{"v":3,"seq":4}\n` },
    facts: {
      live: [trapped(3)],
      head: 3,
      writer: null,
      anomalies: { future: 1 },
      sections: traps,
      status: 'incomplete and degraded',
    },
  },
  {
    name: 'segments-by-number',
    shows: 'segments follow each other by number, not as the directory lists them',
    cites: ['JF-5'],
    files: {
      'seg-00000010.jsonl': ours(10, 'update', 'trap', 't', 3, { payload: plainPayload('10') }),
      'seg-00000009.jsonl': ours(9, 'update', 'trap', 't', 2, { payload: plainPayload('9') }),
      [one]: Array.from({ length: 8 }, (_, k) => ours(k + 1, 'create', 'trap', `u${k}`, 1)).join(''),
      'seg-00000100.jsonl': ours(11, 'delete', 'trap', 't', 4),
      'seg-00000099.jsonl': '',
    },
    facts: {
      head: 11,
      activity: [1, 2, 3, 4, 5, 6, 7, 8],
      sections: { trap: ['activity', 'system', 'traps'] },
    },
  },
  {
    name: 'segment-names-of-another-width',
    shows: 'names of another width, number 0 or another suffix are no segments; each is counted',
    cites: ['JF-3', 'JF-4', 'F5'],
    files: {
      [one]: trap(1),
      'seg-2.jsonl': trap(2),
      'seg-0000002.jsonl': trap(2),
      'seg-000000002.jsonl': trap(2),
      'seg-00000000.jsonl': trap(2),
      'seg-0000000a.jsonl': trap(2),
      'seg-.jsonl': trap(2),
      'seg-00000002.jsonl.gz': gzipStored(bytes(trap(2))),
      'seg-00000002.jsonl.tmp': trap(2),
      'seg-00000002.jsonl~': trap(2),
      'seg--0000002.jsonl': trap(2),
    },
    facts: {
      live: [trapped(1)],
      head: 1,
      writer: null,
      anomalies: { segment_misnamed: 10 },
      sections: traps,
    },
  },
  {
    name: 'files-of-no-concern',
    shows: 'other files, temporary ones and other folders are ignored without a count',
    cites: ['JF-4', 'JF-8', 'RC-16'],
    files: {
      [one]: trap(1),
      '.seg-00000002.jsonl.tmp': trap(2),
      'Seg-00000009.jsonl': trap(2),
      'notes.txt': trap(2),
      'segment.jsonl': trap(2),
      'seg-00000002.json': trap(2),
      'ckpt-00000001.json': '{"checkpoint":1}',
      'archive/.seg-00000002.jsonl.gz.tmp': trap(2),
      'archive/seg-2.jsonl': trap(2),
      'archive/readme': trap(2),
      'blobs/00/readme': 'no blob',
      'checkpoints/.ckpt-00000001.json.tmp': '{"checkpoint":1}',
      'checkpoints/ckpt-1.json': '{"checkpoint":1}',
      'checkpoints/seg-00000002.jsonl': trap(2),
      'quarantine/seg-00000002.jsonl': trap(2),
    },
    facts: { live: [trapped(1)], head: 1, writer: null, sections: traps },
  },
  withMeta(
    'meta-agrees',
    'a meta.json that is right says nothing a reader needs',
    ['M4', 'RC-11'],
    metaOf({}),
  ),
  withMeta(
    'meta-is-ahead',
    'a meta.json that announces lost records is for the writer; a reader goes by the segments',
    ['M5', 'RC-11'],
    metaOf({ next_seq: 100 }),
  ),
  withMeta(
    'meta-is-far-ahead',
    'a meta.json that no loss explains is ignored by all',
    ['M6', 'RC-11'],
    metaOf({ next_seq: 99999999 }),
  ),
  withMeta(
    'meta-lies',
    'another project, an active segment that is not there, revisions that were never made',
    ['M3', 'RC-11'],
    metaOf({
      active_segment: 'seg-00009999.jsonl',
      entity_revs: { 'message\triver/1': 99 },
      next_seq: 1,
      project_id: 'f'.repeat(32),
    }),
  ),
  withMeta('meta-is-corrupt', 'a meta.json that is not JSON', ['M2', 'RC-11'], '{"next_seq":'),
  {
    name: 'archive-plain',
    shows: 'an archived segment is part of the journal',
    cites: ['G5', 'JF-7', 'JF-72'],
    files: { [`archive/${one}`]: older, 'seg-00000003.jsonl': newer },
    facts: both,
  },
  {
    name: 'archive-gzipped',
    shows: 'so is one that was gzipped',
    cites: ['G5', 'JF-71', 'JF-72'],
    files: { [`archive/${one}.gz`]: gzipStored(bytes(older)), 'seg-00000003.jsonl': newer },
    facts: both,
  },
  {
    name: 'archive-gzipped-in-members',
    shows: 'a gzip file may have several members, and a line may be in two of them',
    cites: ['JF-71'],
    files: {
      [`archive/${one}.gz`]: bytes(
        gzipStored(bytes(older).slice(0, 100)),
        gzipStored(bytes(older).slice(100)),
      ),
      'seg-00000003.jsonl': newer,
    },
    facts: both,
  },
  {
    name: 'archive-plain-before-gzipped',
    shows: 'of two archived copies the plain one is read',
    cites: ['JF-7'],
    files: {
      [`archive/${one}`]: older,
      [`archive/${one}.gz`]: gzipStored(
        bytes(trap(1), ours(2, 'create', 'trap', 'other', 1, { payload: plainPayload('o') })),
      ),
      'seg-00000003.jsonl': newer,
    },
    facts: both,
  },
  {
    name: 'archive-copy-beside-a-live-segment',
    shows: 'a move into the archive that did not remove the live file: nothing applies twice',
    cites: ['G1', 'G2', 'JF-7'],
    files: { [`archive/${one}`]: older, [one]: older, 'seg-00000003.jsonl': newer },
    facts: both,
  },
  {
    name: 'archive-copy-differs-from-the-live-segment',
    shows: 'where the two copies differ the live one is read',
    cites: ['G3', 'JF-7'],
    files: {
      [`archive/${one}`]: ours(1, 'create', 'trap', 'other', 1, { payload: plainPayload('other') }),
      [one]: older,
      'seg-00000003.jsonl': newer,
    },
    facts: both,
  },
  {
    name: 'archive-copy-behind-what-is-no-file',
    shows: 'a directory under the name of a segment does not hide the archived copy',
    cites: ['F6', 'JF-7'],
    files: {
      [`archive/${one}`]: older,
      [`${one}/keep`]: 'a directory stands here',
      'seg-00000003.jsonl': newer,
    },
    facts: { ...both, verify: 6 },
  },
  {
    name: 'archive-copy-is-broken-beside-a-live-segment',
    shows: 'a gzip copy that is not whole yet does not matter while the live file stands',
    cites: ['G4', 'RC-17'],
    files: {
      [`archive/${one}.gz`]: gzipStored(bytes(older)).slice(0, 60),
      [one]: older,
      'seg-00000003.jsonl': newer,
    },
    facts: both,
  },
  {
    name: 'archive-copy-is-broken-and-alone',
    shows: 'a gzip copy that cannot be read to its end is no copy: not even its first lines apply',
    cites: ['G6', 'OB-8'],
    files: { [`archive/${one}.gz`]: gzipStored(bytes(older)).slice(0, -12), 'seg-00000003.jsonl': newer },
    facts: {
      live: [trapped(3)],
      head: 3,
      writer: null,
      sections: traps,
      status: 'incomplete',
      verify: 6,
    },
  },
]
