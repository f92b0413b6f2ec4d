import { foreign, type More, mail, ours, plainPayload } from './lines.js'
import { genesis, note } from './native.js'
import { live, river1, river2, type Vector } from './vector.js'

const traps = { trap: ['system', 'traps'] }
const run = (i: unknown, n: unknown, id: unknown = 'tx-1'): More => ({ tx: { i, id, n } })

/** A record of a run: `create` of trap `t<seq>`. */
const part = (seq: number, i: unknown, n: unknown, more: More = {}): string =>
  ours(seq, 'create', 'trap', `t${seq}`, 1, { payload: plainPayload(`t${seq}`), ...run(i, n), ...more })
/** A record that stands alone. */
const single = (seq: number): string =>
  ours(seq, 'create', 'trap', `t${seq}`, 1, { payload: plainPayload(`t${seq}`) })
const trap = (seq: number) => live('trap', `t${seq}`, 1, plainPayload(`t${seq}`))

const one = 'seg-00000001.jsonl'

export const transactionVectors: readonly Vector[] = [
  {
    name: 'tx-complete',
    shows: 'a whole run applies, in order; so does the next one under the same id',
    cites: ['X2', 'X6', 'X7', 'JF-40'],
    files: {
      [one]:
        single(1) + part(2, 1, 3) + part(3, 2, 3) + part(4, 3, 3) + part(5, 1, 2) + part(6, 2, 2) + single(7),
    },
    facts: { live: [1, 2, 3, 4, 5, 6, 7].map(trap), head: 7, sections: traps },
  },
  {
    name: 'tx-of-one',
    shows: 'a run of one record applies at once',
    cites: ['X1'],
    files: { [one]: part(1, 1, 1) + part(2, 1, 1) },
    facts: { live: [1, 2].map(trap), head: 2, sections: traps },
  },
  {
    name: 'tx-complete-is-news',
    shows: 'a whole run is activity and news like other records',
    cites: ['JF-40'],
    files: {
      [one]:
        ours(1, 'create', 'message', 'river/1', 1, { event: 'new', payload: mail(1, 'one'), ...run(1, 2) }) +
        ours(2, 'run_progress', 'agent_run', 'r', 1, run(2, 2)),
    },
    cursor: { checkpoint_seq: 0, seq: 0, writer: null },
    facts: {
      live: [live('message', 'river/1', 1, mail(1, 'one'))],
      head: 2,
      activity: [1, 2],
      news: [[1, 'mail']],
      sections: { agent_run: ['activity'], message: ['attention', 'inbox'] },
    },
  },
  {
    name: 'tx-blank-lines-inside',
    shows: 'blank lines do not interrupt a run',
    cites: ['JF-17', 'JF-40'],
    files: { [one]: `\n${part(1, 1, 3)}\n \t\r\n${part(2, 2, 3)}\n${part(3, 3, 3)}` },
    facts: { live: [1, 2, 3].map(trap), head: 3, sections: traps },
  },
  {
    name: 'tx-incomplete-in-the-middle',
    shows: 'a run that another record interrupts has no effect at all; its numbers are taken',
    cites: ['X8', 'JF-41'],
    files: {
      [one]:
        single(1) +
        ours(2, 'update', 'trap', 't1', 2, { payload: plainPayload('never'), ...run(1, 3) }) +
        ours(3, 'run_progress', 'trap', 't1', 2, { event: 'alert', ...run(2, 3) }) +
        single(4),
    },
    cursor: { checkpoint_seq: 0, seq: 1, writer: river1 },
    facts: { live: [1, 4].map(trap), head: 4, anomalies: { tx_incomplete: 2 }, sections: traps },
  },
  {
    name: 'tx-open-at-the-end',
    shows: 'a run the newest segment ends inside is waited for: no effect, no count, not in the head',
    cites: ['X10', 'T4', 'JF-42'],
    files: {
      [one]:
        genesis() +
        ours(2, 'create', 'message', 'river/1', 1, { event: 'new', payload: mail(1, 'one') }) +
        ours(3, 'create', 'message', 'river/2', 1, { event: 'new', payload: mail(2, 'two'), ...run(1, 3) }) +
        ours(4, 'create', 'message', 'river/3', 1, { event: 'new', payload: mail(3, 'three'), ...run(2, 3) }),
    },
    facts: {
      live: [live('message', 'river/1', 1, mail(1, 'one'))],
      head: 2,
      activity: [2],
      sections: { message: ['attention', 'inbox'] },
    },
  },
  {
    name: 'tx-open-at-the-end-before-a-blank-line',
    shows: 'blank lines at the end leave a run open',
    cites: ['X10', 'JF-17'],
    files: { [one]: `${single(1)}${part(2, 1, 2)}\n  \n` },
    facts: { live: [trap(1)], head: 1, sections: traps },
  },
  {
    name: 'tx-torn',
    shows: 'a run whose last record lacks its end is open still',
    cites: ['T6', 'JF-42'],
    files: { [one]: single(1) + part(2, 1, 2) + part(3, 2, 2).slice(0, -30) },
    facts: { live: [trap(1)], head: 1, sections: traps },
  },
  {
    name: 'tx-torn-record-parses',
    shows: 'a run whose last record lacks nothing but its LF is open still',
    cites: ['T5', 'JF-42'],
    files: { [one]: single(1) + part(2, 1, 2) + part(3, 2, 2).trimEnd() },
    facts: { live: [trap(1)], head: 1, sections: traps },
  },
  {
    name: 'tx-interrupted-by-garbage',
    shows: 'a malformed line inside a run ends it, even where all n records stand around it',
    cites: ['X8'],
    files: { [one]: `${single(1)}${part(2, 1, 2)}garbage\n${part(3, 2, 2)}${single(4)}` },
    facts: {
      live: [1, 4].map(trap),
      head: 4,
      anomalies: { malformed: 1, tx_incomplete: 2 },
      sections: traps,
    },
  },
  {
    name: 'tx-interrupted-by-a-future-line',
    shows: 'a line of a later version inside a run ends it',
    cites: ['X8', 'JF-21'],
    files: { [one]: part(1, 1, 2) + ours(2, 'create', 'trap', 'x', 1, { v: 3 }) + part(3, 2, 2) + single(4) },
    facts: {
      live: [trap(4)],
      head: 4,
      anomalies: { future: 1, tx_incomplete: 2 },
      sections: traps,
      status: 'degraded',
    },
  },
  {
    name: 'tx-interrupted-at-the-end',
    shows: 'a run that garbage has ended is not waited for',
    cites: ['X8', 'X5'],
    files: { [one]: `${single(1)}${part(2, 1, 2)}garbage\n` },
    facts: { live: [trap(1)], head: 2, anomalies: { malformed: 1, tx_incomplete: 1 }, sections: traps },
  },
  {
    name: 'tx-across-segments',
    shows: 'a run never goes on in the next segment',
    cites: ['X9', 'X4', 'JF-42'],
    files: { [one]: single(1) + part(2, 1, 2), 'seg-00000003.jsonl': part(3, 2, 2) + single(4) },
    facts: { live: [1, 4].map(trap), head: 4, anomalies: { tx_incomplete: 2 }, sections: traps },
  },
  {
    name: 'tx-open-before-an-empty-segment',
    shows: 'a segment that is followed by another, even an empty one, has no pending run',
    cites: ['X9', 'JF-42'],
    files: { [one]: single(1) + part(2, 1, 2), 'seg-00000003.jsonl': '' },
    facts: { live: [trap(1)], head: 2, anomalies: { tx_incomplete: 1 }, sections: traps },
  },
  {
    name: 'tx-malformed',
    shows: 'a `tx` that is none gives its record no effect; each counts once',
    cites: ['X4', 'JF-41'],
    files: {
      [one]:
        [
          null,
          'tx-1',
          [],
          {},
          { i: 1, n: 1 },
          { i: 1, id: '', n: 1 },
          { i: 1, id: 7, n: 1 },
          { i: 0, id: 'x', n: 1 },
          { i: 2, id: 'x', n: 1 },
          { i: 1, id: 'x', n: 0 },
          { i: 1.5, id: 'x', n: 2 },
          { i: '1', id: 'x', n: 1 },
          { i: 1, id: 'x', n: 1001 },
          { i: 1, id: 'x' },
        ]
          .map((tx, k) =>
            foreign(k + 1, 'create', 'trap', { item_id: `t${k + 1}`, payload: plainPayload('never'), tx }),
          )
          .join('') + single(15),
    },
    facts: { live: [trap(15)], head: 15, anomalies: { tx_incomplete: 14 }, sections: traps },
  },
  {
    name: 'tx-over-the-limit-at-the-end',
    shows: 'a run of 1001 is malformed, so nothing is waited for',
    cites: ['JF-40', 'JF-41'],
    files: { [one]: single(1) + part(2, 1, 1001) },
    facts: { live: [trap(1)], head: 2, anomalies: { tx_incomplete: 1 }, sections: traps },
  },
  {
    name: 'tx-at-the-limit-at-the-end',
    shows: 'a run of 1000 is waited for',
    cites: ['JF-40', 'JF-42'],
    files: { [one]: single(1) + part(2, 1, 1000) },
    facts: { live: [trap(1)], head: 1, sections: traps },
  },
  {
    name: 'tx-by-two-writers',
    shows: 'a record of another writer does not go on with a run',
    cites: ['X8', 'JF-40'],
    files: { [one]: part(1, 1, 2) + part(2, 2, 2, { writer: river2 }) + single(3) },
    facts: { live: [trap(3)], head: 3, anomalies: { tx_incomplete: 2 }, sections: traps },
  },
  {
    name: 'tx-of-two-ids',
    shows: 'another id does not go on with a run',
    cites: ['X8', 'JF-40'],
    files: { [one]: part(1, 1, 2) + part(2, 2, 2, run(2, 2, 'tx-2')) + single(3) },
    facts: { live: [trap(3)], head: 3, anomalies: { tx_incomplete: 2 }, sections: traps },
  },
  {
    name: 'tx-of-two-lengths',
    shows: 'another n does not go on with a run',
    cites: ['X8', 'JF-40'],
    files: { [one]: part(1, 1, 3) + part(2, 2, 2) + single(3) },
    facts: { live: [trap(3)], head: 3, anomalies: { tx_incomplete: 2 }, sections: traps },
  },
  {
    name: 'tx-out-of-order',
    shows: 'records of a run in another order, or with one missing, have no effect',
    cites: ['X4', 'X8'],
    files: { [one]: part(1, 2, 2) + part(2, 1, 2) + part(3, 1, 3) + part(4, 3, 3) + single(5) },
    facts: { live: [trap(5)], head: 5, anomalies: { tx_incomplete: 4 }, sections: traps },
  },
  {
    name: 'tx-begun-again',
    shows: 'a run that begins again inside another ends it and may itself become whole',
    cites: ['X8', 'X2', 'X7'],
    files: { [one]: part(1, 1, 2) + part(2, 1, 2) + part(3, 2, 2) + single(4) },
    facts: { live: [2, 3, 4].map(trap), head: 4, anomalies: { tx_incomplete: 1 }, sections: traps },
  },
  {
    name: 'tx-goes-on-too-long',
    shows: 'a record after a whole run that claims to belong to it has no effect',
    cites: ['X4'],
    files: { [one]: part(1, 1, 2) + part(2, 2, 2) + part(3, 2, 2) + part(4, 3, 2) + single(5) },
    facts: { live: [1, 2, 5].map(trap), head: 5, anomalies: { tx_incomplete: 2 }, sections: traps },
  },
  {
    name: 'tx-incomplete-is-no-duplicate',
    shows: 'a record without effect takes no part in duplicate checks: the same record alone then applies',
    cites: ['JF-41', 'JF-46', 'JF-48'],
    files: {
      [one]:
        part(1, 1, 2) + single(1) + ours(1, 'update', 'trap', 't1', 2, { payload: plainPayload('again') }),
    },
    facts: {
      live: [live('trap', 't1', 2, plainPayload('again'))],
      head: 1,
      anomalies: { duplicate_same_writer: 1, seq_regressed: 1, tx_incomplete: 1 },
      sections: traps,
    },
  },
  {
    name: 'tx-repeated-whole',
    shows: 'a whole run written twice: every line of the second is a repeated line',
    cites: ['JF-46'],
    files: { [one]: part(1, 1, 2) + part(2, 2, 2) + part(1, 1, 2) + part(2, 2, 2) },
    facts: { live: [1, 2].map(trap), head: 2, anomalies: { duplicate_line: 2 }, sections: traps },
  },
  {
    name: 'tx-incomplete-holds-a-hole',
    shows: 'the numbers of a run without effect count for continuity',
    cites: ['JF-41', 'JF-47'],
    files: { [one]: single(1) + part(4, 1, 2) + single(5) },
    facts: { live: [1, 5].map(trap), head: 5, anomalies: { seq_hole: 1, tx_incomplete: 1 }, sections: traps },
  },
  {
    name: 'tx-abandoned',
    shows: 'a run that recovery found open and named: no effect, and verify is content',
    cites: ['T4', 'RC-7', 'JF-39'],
    files: {
      [one]:
        genesis() +
        ours(2, 'create', 'message', 'river/1', 1, { event: 'new', payload: mail(1, 'one'), ...run(1, 3) }) +
        ours(3, 'create', 'message', 'river/2', 1, { event: 'new', payload: mail(2, 'two'), ...run(2, 3) }) +
        note(
          4,
          'tx_abandoned',
          { first_seq: 2, last_seq: 3, n: 3, records: 2, segment: one, tx_id: 'tx-1' },
          { writer: river2 },
        ) +
        ours(5, 'create', 'message', 'river/1', 1, { event: 'new', payload: mail(1, 'one'), writer: river2 }),
    },
    facts: {
      live: [live('message', 'river/1', 1, mail(1, 'one'))],
      head: 5,
      writer: river2,
      anomalies: { tx_incomplete: 2 },
      activity: [5],
      sections: { message: ['attention', 'inbox'] },
    },
  },
  {
    name: 'tx-never-abandoned',
    shows: 'the same run without the note is corruption to verify, and the same to a reader',
    cites: ['JF-39', 'JF-41'],
    files: {
      [one]:
        genesis() +
        ours(2, 'create', 'message', 'river/1', 1, { event: 'new', payload: mail(1, 'one'), ...run(1, 3) }) +
        ours(3, 'create', 'message', 'river/2', 1, { event: 'new', payload: mail(2, 'two'), ...run(2, 3) }) +
        ours(4, 'create', 'message', 'river/1', 1, { event: 'new', payload: mail(1, 'one'), writer: river2 }),
    },
    facts: {
      live: [live('message', 'river/1', 1, mail(1, 'one'))],
      head: 4,
      writer: river2,
      anomalies: { tx_incomplete: 2 },
      activity: [4],
      sections: { message: ['attention', 'inbox'] },
      verify: 6,
    },
  },
]
