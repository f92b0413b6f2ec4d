import { mail, ours, plainPayload } from './lines.js'
import { producerStarted } from './native.js'
import { type Facts, live, river1, river2, type Vector, type VectorCursor } from './vector.js'

// Where a client that had come this far goes on. Every message is news, so `news` says what is handed over.

const inbox = { message: ['attention', 'inbox'] }
const one = 'seg-00000001.jsonl'

const arrives = (seq: number, writer: string = river1): string =>
  ours(seq, 'create', 'message', `river/${seq}`, 1, {
    event: 'new',
    payload: mail(seq, `mail ${seq}`),
    writer,
  })
const received = (seq: number) => live('message', `river/${seq}`, 1, mail(seq, `mail ${seq}`))
const mailNews = (...seqs: readonly number[]): NonNullable<Facts['news']> => seqs.map(seq => [seq, 'mail'])
const at = (seq: number, writer: string | null = river1): VectorCursor => ({ checkpoint_seq: 0, seq, writer })

/** Four messages by one writer. */
const four = [1, 2, 3, 4].map(seq => arrives(seq)).join('')
const fourFacts: Facts = { live: [1, 2, 3, 4].map(received), head: 4, activity: [1, 2, 3, 4] }

/** A writer, and after a restart another one: 1–4 by the first, 5–8 by the second, each with its start note. */
const two =
  producerStarted(1) +
  [2, 3, 4].map(seq => arrives(seq)).join('') +
  producerStarted(5, { writer: river2 }) +
  [6, 7, 8].map(seq => arrives(seq, river2)).join('')
const twoFacts: Facts = {
  live: [2, 3, 4, 6, 7, 8].map(received),
  head: 8,
  writer: river2,
  activity: [2, 3, 4, 6, 7, 8],
}

export const cursorVectors: readonly Vector[] = [
  {
    name: 'cursor-in-the-middle',
    shows: 'a cursor within the journal: everything after its record',
    cites: ['U5', 'OB-44'],
    files: { [one]: four },
    cursor: at(2),
    facts: { ...fourFacts, news: mailNews(3, 4), sections: inbox },
  },
  {
    name: 'cursor-at-zero',
    shows: 'the cursor of an empty journal: everything',
    cites: ['U6', 'OB-40'],
    files: { [one]: four },
    cursor: at(0, null),
    facts: { ...fourFacts, news: mailNews(1, 2, 3, 4), sections: inbox },
  },
  {
    name: 'cursor-without-a-writer',
    shows: 'a cursor that names no writer is not compared with one',
    cites: ['U5', 'OB-48'],
    files: { [one]: four },
    cursor: at(3, null),
    facts: { ...fourFacts, news: mailNews(4), sections: inbox },
  },
  {
    name: 'cursor-at-a-number-that-is-missing',
    shows: 'no record has its seq, none before it is lost: it goes on with the next one above',
    cites: ['U6'],
    files: { [one]: arrives(1) + arrives(2) + arrives(6) + arrives(7) },
    cursor: at(4),
    facts: {
      live: [1, 2, 6, 7].map(received),
      head: 7,
      anomalies: { seq_hole: 1 },
      activity: [1, 2, 6, 7],
      news: mailNews(6, 7),
      sections: inbox,
    },
  },
  {
    name: 'cursor-before-regressed-lines',
    shows: 'every line after the first above the cursor is handed over, lower seqs too',
    cites: ['U5', 'OB-44'],
    files: { [one]: arrives(1) + arrives(2) + arrives(9, river2) + arrives(3) + arrives(4) },
    cursor: at(2),
    facts: {
      live: [1, 2, 3, 4, 9].map(received),
      head: 9,
      writer: river2,
      anomalies: { seq_hole: 1, seq_regressed: 2 },
      activity: [1, 2, 9, 3, 4],
      news: mailNews(9, 3, 4),
      sections: inbox,
    },
  },
  {
    name: 'cursor-after-lines-without-effect',
    shows: 'repeated lines and records of an incomplete run are passed, not handed over',
    cites: ['OB-44'],
    files: {
      [one]:
        arrives(1) +
        arrives(2) +
        arrives(2) +
        ours(3, 'create', 'message', 'river/3', 1, {
          event: 'new',
          payload: mail(3, 'mail 3'),
          tx: { i: 1, id: 'x', n: 2 },
        }) +
        arrives(4),
    },
    cursor: at(1),
    facts: {
      live: [1, 2, 4].map(received),
      head: 4,
      anomalies: { duplicate_line: 1, tx_incomplete: 1 },
      activity: [1, 2, 4],
      news: mailNews(2, 4),
      sections: inbox,
    },
  },
  {
    name: 'cursor-of-another-writer',
    shows:
      'its seq is there, by another writer: everything after the last record its own writer left, and a gap',
    cites: ['U4', 'OB-48'],
    files: { [one]: two },
    cursor: at(6, river1),
    facts: {
      ...twoFacts,
      gap: { from: 5, reason: 'rewound', to: 6 },
      news: mailNews(6, 7, 8),
      sections: inbox,
    },
  },
  {
    name: 'cursor-of-an-unknown-writer',
    shows: 'its writer left nothing: everything since the newest producer start, that note included',
    cites: ['U4', 'OB-48'],
    files: { [one]: two },
    cursor: at(7, 'w_303-0f0f0f'),
    facts: {
      ...twoFacts,
      gap: { from: 5, reason: 'rewound', to: 7 },
      news: mailNews(6, 7, 8),
      sections: inbox,
    },
  },
  {
    name: 'cursor-of-an-unknown-writer-far-back',
    shows: 'a gap never begins above its end, however far ahead the hand-over begins',
    cites: ['U4', 'OB-48'],
    files: { [one]: two },
    cursor: at(2, 'w_303-0f0f0f'),
    facts: {
      ...twoFacts,
      gap: { from: 2, reason: 'rewound', to: 2 },
      news: mailNews(6, 7, 8),
      sections: inbox,
    },
  },
  {
    name: 'cursor-of-an-unknown-writer-and-no-start',
    shows: 'no record of its writer and no producer start: everything there is',
    cites: ['U4', 'OB-48'],
    files: { [one]: four },
    cursor: at(3, river2),
    facts: {
      ...fourFacts,
      gap: { from: 1, reason: 'rewound', to: 3 },
      news: mailNews(1, 2, 3, 4),
      sections: inbox,
    },
  },
  {
    name: 'cursor-above-the-head',
    shows: 'the journal lost its end: nothing to hand over, and a gap from the head on',
    cites: ['U3', 'OB-48'],
    files: { [one]: four },
    cursor: at(9),
    facts: { ...fourFacts, gap: { from: 5, reason: 'rewound', to: 9 } },
  },
  {
    name: 'cursor-before-a-segment-that-is-missing',
    shows: 'a segment between two others is not there: a gap up to what stands behind it',
    cites: ['U7', 'OB-47'],
    files: { [one]: four, 'seg-00000009.jsonl': arrives(9) },
    cursor: at(4),
    facts: {
      live: [1, 2, 3, 4, 9].map(received),
      head: 9,
      anomalies: { seq_hole: 1 },
      activity: [1, 2, 3, 4, 9],
      gap: { from: 5, reason: 'missing', to: 8 },
      news: mailNews(9),
      sections: inbox,
    },
  },
  {
    name: 'cursor-above-the-head-of-a-hidden-end',
    shows:
      'what is called the newest segment cannot be read: nothing to hand over, and no gap until it can be',
    cites: ['U8', 'OB-73'],
    files: { [one]: four, 'seg-00000005.jsonl/keep': 'a directory stands here' },
    cursor: at(9),
    facts: { ...fourFacts, verify: 6 },
  },
  {
    name: 'cursor-above-the-head-after-a-restart',
    shows: 'the journal lost its end and another writer went on: what that one wrote is handed over',
    cites: ['U3', 'OB-48'],
    files: { [one]: two },
    cursor: at(20, river1),
    facts: {
      ...twoFacts,
      gap: { from: 5, reason: 'rewound', to: 20 },
      news: mailNews(6, 7, 8),
      sections: inbox,
    },
  },
  {
    name: 'cursor-above-an-empty-journal',
    shows: 'everything is gone: a gap over all of it',
    cites: ['U3', 'R1'],
    files: { [one]: '' },
    cursor: at(5),
    facts: { gap: { from: 1, reason: 'rewound', to: 5 } },
  },
  {
    name: 'cursor-two-writers-used-its-number',
    shows: 'one of the records with its seq is by its writer: not rewound',
    cites: ['U5', 'OB-48'],
    files: {
      [one]:
        arrives(1) +
        arrives(2) +
        ours(2, 'create', 'receipt', 'r', 1, { payload: plainPayload('r'), writer: river2 }) +
        arrives(3),
    },
    cursor: at(2),
    facts: {
      live: [...[1, 2, 3].map(received), live('receipt', 'r', 1, plainPayload('r'))],
      head: 3,
      anomalies: { duplicate_other_writer: 1 },
      activity: [1, 2, 3],
      news: mailNews(3),
      sections: inbox,
    },
  },
  {
    name: 'cursor-in-the-archive',
    shows: 'what stands between the cursor and the first live segment is in the archive: no gap',
    cites: ['U5', 'OB-49', 'JF-72'],
    files: { [`archive/${one}`]: four, 'seg-00000005.jsonl': arrives(5) },
    cursor: at(2),
    facts: {
      live: [1, 2, 3, 4, 5].map(received),
      head: 5,
      activity: [1, 2, 3, 4, 5],
      news: mailNews(3, 4, 5),
      sections: inbox,
    },
  },
  {
    name: 'cursor-below-the-oldest-segment',
    shows: 'what stands between the cursor and the first segment is gone: a gap, then everything',
    cites: ['U7', 'OB-47'],
    files: { 'seg-00000011.jsonl': arrives(11) + arrives(12) },
    cursor: at(5),
    facts: {
      live: [11, 12].map(received),
      head: 12,
      activity: [11, 12],
      gap: { from: 6, reason: 'archived', to: 10 },
      news: mailNews(11, 12),
      sections: inbox,
      status: 'incomplete',
    },
  },
  {
    name: 'cursor-just-below-the-oldest-segment',
    shows: 'the first segment begins right after the cursor: no gap, although state is incomplete',
    cites: ['U6', 'OB-47'],
    files: { 'seg-00000011.jsonl': arrives(11) + arrives(12) },
    cursor: at(10),
    facts: {
      live: [11, 12].map(received),
      head: 12,
      activity: [11, 12],
      news: mailNews(11, 12),
      sections: inbox,
      status: 'incomplete',
    },
  },
]
