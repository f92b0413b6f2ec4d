import { foreign, mail, ours, plainPayload } from './lines.js'
import { genesis, sealed, seqRepairLine } from './native.js'
import { live, river2, type Vector } from './vector.js'

const inbox = { message: ['attention', 'inbox'] }
const traps = { trap: ['system', 'traps'] }

const message = (seq: number, id: number): string =>
  ours(seq, 'create', 'message', `river/${id}`, 1, { payload: mail(id, `mail ${id}`) })
const received = (id: number) => live('message', `river/${id}`, 1, mail(id, `mail ${id}`))
const trap = (seq: number): string =>
  foreign(seq, 'create', 'trap', { item_id: `t${seq}`, payload: plainPayload(`t${seq}`) })
const trapped = (seq: number) => live('trap', `t${seq}`, null, plainPayload(`t${seq}`))

const one = 'seg-00000001.jsonl'

export const continuityVectors: readonly Vector[] = [
  {
    name: 'hole',
    shows: 'two runs of unexplained numbers are two holes',
    cites: ['JF-47'],
    files: { [one]: genesis() + message(2, 1) + message(5, 2) + message(6, 3) + message(8, 4) },
    facts: {
      live: [1, 2, 3, 4].map(received),
      head: 8,
      anomalies: { seq_hole: 2 },
      sections: inbox,
      verify: 5,
    },
  },
  {
    name: 'hole-repaired',
    shows: 'numbers that a `seq_repair` names are no hole',
    cites: ['JF-44', 'JF-47', 'M5'],
    files: {
      [one]:
        genesis() +
        message(2, 1) +
        seqRepairLine(12, 3, 11, { writer: river2 }) +
        ours(13, 'create', 'message', 'river/2', 1, { payload: mail(2, 'mail 2'), writer: river2 }),
    },
    facts: { live: [1, 2].map(received), head: 13, writer: river2, sections: inbox },
  },
  {
    name: 'hole-repaired-later',
    shows: 'the repair may stand anywhere, in another segment too, and several may share a hole',
    cites: ['JF-47'],
    files: {
      [one]:
        trap(1) + trap(5) + trap(9) + foreign(10, 'seq_repair', 'journal', { payload: { from: 2, to: 3 } }),
      'seg-00000011.jsonl':
        foreign(11, 'seq_repair', 'journal', { payload: { from: 4, to: 4 } }) +
        foreign(12, 'seq_repair', 'journal', { payload: { from: 1, to: 20 } }),
    },
    facts: { live: [1, 5, 9].map(trapped), head: 12, writer: null, sections: traps },
  },
  {
    name: 'hole-repaired-in-part',
    shows: 'a hole of which one number is unexplained is a hole',
    cites: ['JF-47'],
    files: {
      [one]: trap(1) + trap(6) + foreign(7, 'seq_repair', 'journal', { payload: { from: 2, to: 4 } }),
    },
    facts: { live: [1, 6].map(trapped), head: 7, writer: null, anomalies: { seq_hole: 1 }, sections: traps },
  },
  {
    name: 'hole-repair-unusable',
    shows: 'a `seq_repair` without two integers, or of an incomplete run, explains nothing',
    cites: ['JF-47', 'JF-41'],
    files: {
      [one]:
        trap(1) +
        trap(4) +
        foreign(5, 'seq_repair', 'journal', { payload: { from: '2', to: '3' } }) +
        foreign(6, 'seq_repair', 'journal', { payload: { from: 2 } }) +
        foreign(7, 'seq_repair', 'journal') +
        foreign(8, 'journal_note', 'journal', { payload: { from: 2, kind: 'seq_repair', to: 3 } }) +
        foreign(9, 'seq_repair', 'journal', { payload: { from: 2, to: 3 }, tx: { i: 1, id: 'x', n: 2 } }) +
        trap(10),
    },
    facts: {
      live: [1, 4, 10].map(trapped),
      head: 10,
      writer: null,
      anomalies: { seq_hole: 1, tx_incomplete: 1 },
      sections: traps,
    },
  },
  {
    name: 'hole-at-the-beginning',
    shows: 'a first segment that does not begin with 1 has a hole',
    cites: ['JF-47'],
    files: { [one]: trap(3) + trap(4) },
    facts: { live: [3, 4].map(trapped), head: 4, writer: null, anomalies: { seq_hole: 1 }, sections: traps },
  },
  {
    name: 'hole-between-segments',
    shows: 'a segment file that is gone from the middle leaves a hole; what is there applies',
    cites: ['JF-47', 'JF-6'],
    files: {
      [one]: genesis() + message(2, 1),
      'seg-00000005.jsonl':
        sealed(5, 'seg-00000003.jsonl', message(3, 2) + message(4, 3), 3, 4) + message(6, 4),
    },
    facts: { live: [1, 4].map(received), head: 6, anomalies: { seq_hole: 1 }, sections: inbox, verify: 5 },
  },
  {
    name: 'segment-name-is-a-lower-bound',
    shows: 'a segment may begin above the number in its name; what lies between is a hole unless repaired',
    cites: ['JF-6', 'RC-12'],
    files: {
      [one]: genesis() + message(2, 1),
      'seg-00000003.jsonl':
        sealed(8, one, genesis() + message(2, 1), 1, 2) + seqRepairLine(9, 3, 7) + message(10, 2),
    },
    facts: { live: [1, 2].map(received), head: 10, sections: inbox },
  },
  {
    name: 'hole-filled-by-a-later-version',
    shows: 'the number of a future line is not missing; a hole before it is',
    cites: ['JF-21', 'JF-47'],
    files: {
      [one]:
        trap(1) + foreign(2, 'create', 'trap', { v: 3 }) + trap(3) + foreign(6, 'x', 'y', { v: 9 }) + trap(7),
    },
    facts: {
      live: [1, 3, 7].map(trapped),
      head: 7,
      writer: null,
      anomalies: { future: 2, seq_hole: 1 },
      sections: traps,
      status: 'degraded',
    },
  },
  {
    name: 'hole-left-by-a-malformed-line',
    shows: 'a malformed line takes no number, whatever it seems to say',
    cites: ['JF-20', 'JF-47'],
    files: { [one]: `${trap(1)}{"v":2,"seq":2,"action":"create"}\n${trap(3)}` },
    facts: {
      live: [1, 3].map(trapped),
      head: 3,
      writer: null,
      anomalies: { malformed: 1, seq_hole: 1 },
      sections: traps,
    },
  },
  {
    name: 'hole-before-the-first-segment',
    shows: 'history that begins above 1 is no hole: counting starts at the first name there is',
    cites: ['JF-47', 'R7'],
    files: { 'seg-00000041.jsonl': trap(41) + trap(42), 'seg-00000045.jsonl': trap(45) },
    facts: {
      live: [41, 42, 45].map(trapped),
      head: 45,
      writer: null,
      anomalies: { seq_hole: 1 },
      sections: traps,
      status: 'incomplete',
    },
  },
]
