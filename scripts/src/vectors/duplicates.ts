import { ours, plainPayload } from './lines.js'
import { live, river2, type Vector } from './vector.js'

const traps = { trap: ['system', 'traps'] }
const byOther = { writer: river2 }

const create = ours(1, 'create', 'trap', 't', 1, { payload: plainPayload('one') })
const update = ours(2, 'update', 'trap', 't', 2, { payload: plainPayload('two') })

export const duplicateVectors: readonly Vector[] = [
  {
    name: 'duplicate-line',
    shows: 'the bytes of an earlier line of the segment again: skipped, the later state stands',
    cites: ['JF-46'],
    files: {
      'seg-00000001.jsonl':
        create +
        update +
        create +
        ours(3, 'session_start', 'session', 's', 1) +
        ours(3, 'session_start', 'session', 's', 1),
    },
    facts: {
      live: [live('trap', 't', 2, plainPayload('two'))],
      head: 3,
      anomalies: { duplicate_line: 2 },
      activity: [3],
      sections: { session: ['activity'], ...traps },
    },
  },
  {
    name: 'duplicate-line-of-a-tombstone',
    shows: 'a repeated `create` after its `delete` is skipped, so the entity stays away',
    cites: ['JF-46'],
    files: { 'seg-00000001.jsonl': create + ours(2, 'delete', 'trap', 't', 2) + create },
    facts: { head: 2, anomalies: { duplicate_line: 1 }, sections: traps },
  },
  {
    name: 'duplicate-line-in-another-segment',
    shows: 'the same bytes in another segment are no repeated line: they apply, and are an error',
    cites: ['JF-46'],
    files: { 'seg-00000001.jsonl': create + update, 'seg-00000003.jsonl': create },
    facts: {
      live: [live('trap', 't', 1, plainPayload('one'))],
      head: 2,
      anomalies: { duplicate_same_writer: 1 },
      sections: traps,
    },
  },
  {
    name: 'duplicate-seq-same-writer',
    shows: 'one writer used a seq twice: both apply, the later wins',
    cites: ['JF-46'],
    files: {
      'seg-00000001.jsonl':
        create + update + ours(2, 'update', 'trap', 't', 2, { payload: plainPayload('two, again') }),
    },
    facts: {
      live: [live('trap', 't', 2, plainPayload('two, again'))],
      head: 2,
      anomalies: { duplicate_same_writer: 1 },
      sections: traps,
    },
  },
  {
    name: 'duplicate-seq-other-writer',
    shows: 'two writers used a seq on two entities: both apply',
    cites: ['JF-46'],
    files: {
      'seg-00000001.jsonl':
        create +
        update +
        ours(2, 'create', 'trap', 'u', 1, { payload: plainPayload('two, too'), ...byOther }),
    },
    facts: {
      live: [live('trap', 't', 2, plainPayload('two')), live('trap', 'u', 1, plainPayload('two, too'))],
      head: 2,
      writer: river2,
      anomalies: { duplicate_other_writer: 1 },
      sections: traps,
    },
  },
  {
    name: 'duplicate-seq-overwrites',
    shows: 'two writers made the same revision of one entity: the later wins, counted as an overwrite',
    cites: ['JF-46'],
    files: {
      'seg-00000001.jsonl':
        create +
        update +
        ours(2, 'update', 'trap', 't', 2, { payload: plainPayload('two, otherwise'), ...byOther }),
    },
    facts: {
      live: [live('trap', 't', 2, plainPayload('two, otherwise'))],
      head: 2,
      writer: river2,
      anomalies: { duplicate_overwrite: 1 },
      sections: traps,
    },
  },
  {
    name: 'duplicate-seq-other-revision',
    shows: 'two writers, one entity, unlike revisions: no overwrite',
    cites: ['JF-46'],
    files: {
      'seg-00000001.jsonl':
        create + update + ours(2, 'update', 'trap', 't', 3, { payload: plainPayload('three'), ...byOther }),
    },
    facts: {
      live: [live('trap', 't', 3, plainPayload('three'))],
      head: 2,
      writer: river2,
      anomalies: { duplicate_other_writer: 1 },
      sections: traps,
    },
  },
  {
    name: 'duplicate-seq-of-three',
    shows: 'a third record is compared with every earlier one of its seq, its own writer first',
    cites: ['JF-46'],
    files: {
      'seg-00000001.jsonl':
        create +
        ours(1, 'create', 'trap', 'u', 1, { payload: plainPayload('by the other'), ...byOther }) +
        ours(1, 'update', 'trap', 'u', 1, { payload: plainPayload('by the first again') }),
    },
    facts: {
      live: [
        live('trap', 't', 1, plainPayload('one')),
        live('trap', 'u', 1, plainPayload('by the first again')),
      ],
      head: 1,
      anomalies: { duplicate_other_writer: 1, duplicate_same_writer: 1 },
      sections: traps,
    },
  },
  {
    name: 'entity-rev-jumps',
    shows: 'a revision that skips one applies and counts; one that falls back, or is absent, does not count',
    cites: ['JF-49'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'trap', 't', 7, { payload: plainPayload('the first known may be any') }) +
        ours(2, 'update', 'trap', 't', 9, { payload: plainPayload('jump') }) +
        ours(3, 'update', 'trap', 't', 4, { payload: plainPayload('back') }) +
        ours(4, 'update', 'trap', 't', 0, { payload: plainPayload('none'), entity_rev: undefined }) +
        ours(5, 'update', 'trap', 't', 5, { payload: plainPayload('on from 4') }) +
        ours(6, 'run_progress', 'trap', 't', 9) +
        ours(7, 'update', 'trap', 't', 6, { payload: plainPayload('activity has no part in it') }) +
        ours(8, 'delete', 'trap', 't', 9),
    },
    facts: {
      head: 8,
      anomalies: { entity_rev_jump: 2 },
      activity: [6],
      sections: { trap: ['activity', 'system', 'traps'] },
    },
  },
  {
    name: 'seq-regressed',
    shows: 'a lower seq that no record had: it applies and counts',
    cites: ['JF-48'],
    files: {
      'seg-00000001.jsonl':
        create +
        ours(5, 'update', 'trap', 't', 2, { payload: plainPayload('five'), ...byOther }) +
        ours(3, 'update', 'trap', 't', 3, { payload: plainPayload('three') }) +
        ours(6, 'create', 'trap', 'u', 1, { payload: plainPayload('six') }),
    },
    facts: {
      live: [live('trap', 't', 3, plainPayload('three')), live('trap', 'u', 1, plainPayload('six'))],
      head: 6,
      anomalies: { seq_hole: 1, seq_regressed: 1 },
      sections: traps,
    },
  },
  {
    name: 'seq-regressed-into-an-older-segment',
    shows: 'a segment whose seqs lie below those of the one before still comes after it',
    cites: ['JF-5', 'JF-27'],
    files: {
      'seg-00000001.jsonl': create + ours(9, 'update', 'trap', 't', 2, { payload: plainPayload('nine') }),
      'seg-00000002.jsonl': ours(3, 'update', 'trap', 't', 3, { payload: plainPayload('three, and last') }),
    },
    facts: {
      live: [live('trap', 't', 3, plainPayload('three, and last'))],
      head: 9,
      anomalies: { seq_hole: 1, seq_regressed: 1 },
      sections: traps,
    },
  },
]
