import { foreign, ours, oursBare, plainPayload } from './lines.js'
import { live, type Vector } from './vector.js'

const traps = { trap: ['system', 'traps'] }

/** Our frame with another version, given as JSON text. */
const versioned = (seq: number, rev: number, v: string): string =>
  `${oursBare(seq, 'update', 'trap', 't', rev, { payload: plainPayload(`v ${v}`) }).replace('"v":2', `"v":${v}`)}\n`

const first = ours(1, 'create', 'trap', 't', 1, { payload: plainPayload('v 2') })

export const versionVectors: readonly Vector[] = [
  {
    name: 'version-1',
    shows: 'an older envelope version is malformed, not future',
    cites: ['JF-19'],
    files: {
      'seg-00000001.jsonl': first + versioned(2, 2, '1') + versioned(3, 2, '0') + versioned(4, 2, '-2'),
    },
    facts: {
      live: [live('trap', 't', 1, plainPayload('v 2'))],
      head: 1,
      anomalies: { malformed: 3 },
      sections: traps,
    },
  },
  {
    name: 'version-as-text',
    shows: 'a version that is no number, or none at all, is malformed',
    cites: ['JF-19'],
    files: {
      'seg-00000001.jsonl':
        first +
        versioned(2, 2, '"2"') +
        versioned(3, 2, '"3"') +
        versioned(4, 2, 'null') +
        versioned(5, 2, 'true') +
        versioned(6, 2, '[3]') +
        versioned(7, 2, '1.5') +
        oursBare(8, 'update', 'trap', 't', 2, { payload: plainPayload('none'), v: undefined }) +
        '\n',
    },
    facts: {
      live: [live('trap', 't', 1, plainPayload('v 2'))],
      head: 1,
      anomalies: { malformed: 7 },
      sections: traps,
    },
  },
  {
    name: 'version-3',
    shows: 'a later version is skipped and counted; the reader is degraded and goes on',
    cites: ['JF-21', 'CO-3'],
    files: {
      'seg-00000001.jsonl':
        first +
        versioned(2, 2, '3') +
        ours(3, 'update', 'trap', 't', 3, { payload: plainPayload('v 2 again') }),
    },
    facts: {
      live: [live('trap', 't', 3, plainPayload('v 2 again'))],
      head: 3,
      anomalies: { entity_rev_jump: 1, future: 1 },
      sections: traps,
      status: 'degraded',
    },
  },
  {
    name: 'version-3-at-the-end',
    shows: 'a later version takes a number, but is never the head',
    cites: ['JF-21', 'JF-50'],
    files: { 'seg-00000001.jsonl': first + versioned(2, 2, '3') + versioned(3, 2, '2.5') },
    facts: {
      live: [live('trap', 't', 1, plainPayload('v 2'))],
      head: 1,
      anomalies: { future: 2 },
      sections: traps,
      status: 'degraded',
    },
  },
  {
    name: 'version-3-of-any-shape',
    shows: 'nothing but its version and seq is asked of a later line; without a seq it takes no number',
    cites: ['JF-21', 'JF-47'],
    files: {
      'seg-00000001.jsonl':
        first +
        '{"v":3}\n' +
        '{"payload":null,"v":4,"seq":2}\n' +
        '{"seq":"3","v":1e300,"action":7}\n' +
        foreign(4, 'create', 'trap', { item_id: 'u', payload: plainPayload('u') }),
    },
    facts: {
      live: [live('trap', 't', 1, plainPayload('v 2')), live('trap', 'u', null, plainPayload('u'))],
      head: 4,
      writer: null,
      anomalies: { future: 3, seq_hole: 1 },
      sections: traps,
      status: 'degraded',
    },
  },
]
