import { foreign, mail, ours, plainPayload } from './lines.js'
import { live, river1, type Vector } from './vector.js'

const fromStart = { checkpoint_seq: 0, seq: 0, writer: null }

const wakes: readonly (readonly [event: string, wake: string])[] = [
  ['new', 'mail'],
  ['armed', 'liveness'],
  ['heartbeat', 'liveness'],
  ['alert', 'diagnostic'],
  ['recovered', 'diagnostic'],
  ['seed_ahead', 'diagnostic'],
  ['replay_capped', 'diagnostic'],
  ['state_corrupt', 'diagnostic'],
  ['baseline_skipped', 'diagnostic'],
  ['persona_added', 'diagnostic'],
]

export const newsVectors: readonly Vector[] = [
  {
    name: 'wake-of-every-event',
    shows: 'each event of the manifest has its wake class',
    cites: ['JF-33'],
    files: {
      'seg-00000001.jsonl': wakes
        .map(([event], k) =>
          ours(k + 1, 'update', 'persona', 'river', k + 1, { event, payload: plainPayload(event) }),
        )
        .join(''),
    },
    cursor: fromStart,
    facts: {
      live: [live('persona', 'river', 10, plainPayload('persona_added'))],
      head: 10,
      activity: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      news: wakes.map(([, wake], k) => [k + 1, wake]),
      sections: { persona: ['roster'] },
    },
  },
  {
    name: 'wake-of-unclassified-events',
    shows: 'an unclassified event is diagnostic, so it wakes; so is a name objects inherit',
    cites: ['JF-33'],
    files: {
      'seg-00000001.jsonl': ['unheard_of', 'New', 'new ', 'toString', '__proto__', 'constructor']
        .map((event, k) =>
          ours(k + 1, 'update', 'persona', 'river', k + 1, { event, payload: plainPayload(event) }),
        )
        .join(''),
    },
    cursor: fromStart,
    facts: {
      live: [live('persona', 'river', 6, plainPayload('constructor'))],
      head: 6,
      activity: [1, 2, 3, 4, 5, 6],
      news: [1, 2, 3, 4, 5, 6].map(seq => [seq, 'diagnostic']),
      sections: { persona: ['roster'] },
    },
  },
  {
    name: 'news-is-what-carries-an-event',
    shows: 'records of any class with an event are news and activity; without one they are not news',
    cites: ['JF-33', 'JF-34'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'message', 'river/1', 1, { event: 'new', payload: mail(1, 'hello') }) +
        ours(2, 'update', 'message', 'river/1', 2, { payload: mail(1, 'hello', true) }) +
        ours(3, 'delete', 'message', 'river/1', 3, { event: 'alert' }) +
        ours(4, 'run_progress', 'agent_run', 'r', 1, { event: 'heartbeat' }) +
        ours(5, 'run_progress', 'agent_run', 'r', 1) +
        ours(6, 'journal_note', 'journal', 'store_marker', 0, { event: 'recovered' }),
    },
    cursor: fromStart,
    facts: {
      head: 6,
      activity: [1, 3, 4, 5, 6],
      news: [
        [1, 'mail'],
        [3, 'diagnostic'],
        [4, 'liveness'],
        [6, 'diagnostic'],
      ],
      sections: { agent_run: ['activity'], message: ['attention', 'inbox'] },
    },
  },
  {
    name: 'news-is-never-backfill',
    shows: 'a backfill with an event is activity and state, never news',
    cites: ['JF-33'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'backfill', 'message', 'river/1', 1, { event: 'new', payload: mail(1, 'old') }) +
        ours(2, 'create', 'message', 'river/2', 1, { event: 'new', payload: mail(2, 'fresh') }),
    },
    cursor: fromStart,
    facts: {
      live: [live('message', 'river/1', 1, mail(1, 'old')), live('message', 'river/2', 1, mail(2, 'fresh'))],
      head: 2,
      activity: [1, 2],
      news: [[2, 'mail']],
      sections: { message: ['attention', 'inbox'] },
    },
  },
  {
    name: 'news-needs-a-usable-event',
    shows: 'an event that is no string, or an empty one, is no event',
    cites: ['JF-24'],
    files: {
      'seg-00000001.jsonl': ['', null, 7, true, ['new'], { new: 1 }]
        .map((event, k) =>
          foreign(k + 1, 'update', 'persona', { event, item_id: 'river', payload: plainPayload('p') }),
        )
        .join(''),
    },
    cursor: fromStart,
    facts: {
      live: [live('persona', 'river', null, plainPayload('p'))],
      head: 6,
      writer: null,
      sections: { persona: ['roster'] },
    },
  },
  {
    name: 'news-not-before-the-open',
    shows: 'without a cursor nothing that stood before the open is news',
    cites: ['U1'],
    files: {
      'seg-00000001.jsonl': ours(1, 'create', 'message', 'river/1', 1, {
        event: 'new',
        payload: mail(1, 'hello'),
      }),
    },
    facts: {
      live: [live('message', 'river/1', 1, mail(1, 'hello'))],
      head: 1,
      activity: [1],
      sections: { message: ['attention', 'inbox'] },
    },
  },
  {
    name: 'activity-beyond-the-ring',
    shows: 'of 506 records that are activity the newest 500 are kept, in file order',
    cites: ['JF-34', 'OB-30'],
    files: {
      'seg-00000001.jsonl':
        Array.from({ length: 505 }, (_, k) => foreign(k + 1, 'run_progress', 'agent_run')).join('') +
        ours(506, 'create', 'message', 'river/1', 1, { payload: mail(1, 'no activity') }) +
        ours(507, 'create', 'message', 'river/2', 1, { event: 'new', payload: mail(2, 'activity') }),
    },
    facts: {
      live: [
        live('message', 'river/1', 1, mail(1, 'no activity')),
        live('message', 'river/2', 1, mail(2, 'activity')),
      ],
      head: 507,
      activity: [...Array.from({ length: 499 }, (_, k) => k + 7), 507],
      sections: { agent_run: ['activity'], message: ['attention', 'inbox'] },
    },
  },
  {
    name: 'activity-in-file-order',
    shows: 'activity keeps the order of the lines where seqs do not ascend',
    cites: ['JF-27', 'JF-34'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'session_start', 'session', 's', 1) +
        ours(4, 'session_end', 'session', 's', 1, { writer: 'w_202-d4e5f6' }) +
        ours(2, 'run_progress', 'agent_run', 'r', 1) +
        ours(3, 'run_progress', 'agent_run', 'r', 1),
    },
    facts: {
      head: 4,
      writer: 'w_202-d4e5f6',
      anomalies: { seq_hole: 1, seq_regressed: 2 },
      activity: [1, 4, 2, 3],
      sections: { agent_run: ['activity'], session: ['activity'] },
    },
  },
  {
    name: 'cursor-at-the-head',
    shows: 'a cursor at the head: nothing is handed over',
    cites: ['U5'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'message', 'river/1', 1, { event: 'new', payload: mail(1, 'one') }) +
        ours(2, 'create', 'message', 'river/2', 1, { event: 'new', payload: mail(2, 'two') }),
    },
    cursor: { checkpoint_seq: 0, seq: 2, writer: river1 },
    facts: {
      live: [live('message', 'river/1', 1, mail(1, 'one')), live('message', 'river/2', 1, mail(2, 'two'))],
      head: 2,
      activity: [1, 2],
    },
  },
]
