import { foreign, instant, mail, ours, plainPayload } from './lines.js'
import { live, river1, type Vector } from './vector.js'

// Content that would like to be something else: names that objects inherit, ids that look like paths or
// like the separators of the digest, and text that looks like the envelope around it.

const inbox = { message: ['attention', 'inbox'] }
const one = 'seg-00000001.jsonl'

const inherited = ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'valueOf']
const paths = [
  '../../etc/passwd',
  '/etc/passwd',
  'a/../b',
  'C:\\temp',
  '.',
  '..',
  '~',
  'con',
  'a\u0000b',
  ' ',
  '%2e%2e',
]

export const hostileVectors: readonly Vector[] = [
  {
    name: 'ids-that-objects-inherit',
    shows: '`__proto__`, `constructor` and their like are ids like any other',
    cites: ['JF-15'],
    files: {
      [one]:
        inherited
          .map((id, k) => ours(k + 1, 'create', 'message', id, 1, { payload: plainPayload(id) }))
          .join('') + ours(7, 'delete', 'message', 'toString', 2),
    },
    facts: {
      live: inherited.filter(id => id !== 'toString').map(id => live('message', id, 1, plainPayload(id))),
      head: 7,
      sections: inbox,
    },
  },
  {
    name: 'types-that-objects-inherit',
    shows: 'and so they are as item types, in state, sections and activity',
    cites: ['JF-15'],
    files: {
      [one]:
        inherited
          .map((type, k) => ours(k + 1, 'create', type, type, 1, { payload: plainPayload(type) }))
          .join('') +
        ours(7, 'session_start', '__proto__', 's', 1) +
        ours(8, 'session_start', 'constructor', 's', 1),
    },
    facts: {
      live: inherited.map(type => live(type, type, 1, plainPayload(type))),
      head: 8,
      activity: [7, 8],
      sections: JSON.parse('{"__proto__":["activity"],"constructor":["activity"]}'),
    },
  },
  {
    name: 'keys-that-objects-inherit',
    shows: 'a `__proto__` key in the line or the payload is a key: it lends no field to anything',
    cites: ['JF-15', 'JF-55'],
    files: {
      [one]:
        `{"v":2,"seq":1,"action":"create","item_type":"trap","item_id":"p","payload":{"__proto__":{"status":"open"},"constructor":{"prototype":1}}}\n` +
        `{"v":2,"seq":2,"action":"create","item_type":"alert","item_id":"q","payload":{"__proto__":{"status":"open"}}}\n` +
        `{"v":2,"seq":3,"action":"update","item_type":"trap","__proto__":{"item_id":"p","event":"new","payload":{}}}\n` +
        `{"__proto__":{"v":2,"seq":4,"action":"create","item_type":"trap"}}\n`,
    },
    facts: {
      live: [
        live('trap', 'p', null, JSON.parse('{"__proto__":{"status":"open"},"constructor":{"prototype":1}}')),
        live('alert', 'q', null, JSON.parse('{"__proto__":{"status":"open"}}')),
      ],
      head: 3,
      writer: null,
      anomalies: { malformed: 1 },
      activity: [3],
      sections: { alert: ['attention', 'system'], trap: ['activity', 'system', 'traps'] },
    },
  },
  {
    name: 'ids-like-paths',
    shows: 'ids that look like paths, and one with a NUL, name entities and nothing else',
    cites: ['JF-15', 'JF-54'],
    files: {
      [one]: paths
        .map((id, k) => ours(k + 1, 'create', 'message', id, 1, { payload: plainPayload(id) }))
        .join(''),
    },
    facts: { live: paths.map(id => live('message', id, 1, plainPayload(id))), head: 11, sections: inbox },
  },
  {
    name: 'ids-with-separators',
    shows: 'pairs that read alike once they are joined stay two entities',
    cites: ['JF-15', 'JF-55'],
    files: {
      [one]:
        ours(1, 'create', 'trap\tx', 'y', 1, { payload: plainPayload('same') }) +
        ours(2, 'create', 'trap', 'x\ty', 1, { payload: plainPayload('same') }) +
        ours(3, 'create', 'a\u0000b', 'c', 1, { payload: plainPayload('1') }) +
        ours(4, 'create', 'a', 'b\u0000c', 1, { payload: plainPayload('2') }) +
        ours(5, 'create', 'a/b', 'c', 1, { payload: plainPayload('3') }) +
        ours(6, 'create', 'a', 'b/c', 1, { payload: plainPayload('4') }) +
        ours(7, 'create', 'a","b', 'c', 1, { payload: plainPayload('5') }) +
        ours(8, 'create', 'a', 'b","c', 1, { payload: plainPayload('6') }) +
        ours(9, 'create', 'a\n', '\nc', 1, { payload: plainPayload('7') }) +
        ours(10, 'delete', 'trap', 'x', 1),
    },
    facts: {
      live: [
        live('trap\tx', 'y', 1, plainPayload('same')),
        live('trap', 'x\ty', 1, plainPayload('same')),
        live('a\u0000b', 'c', 1, plainPayload('1')),
        live('a', 'b\u0000c', 1, plainPayload('2')),
        live('a/b', 'c', 1, plainPayload('3')),
        live('a', 'b/c', 1, plainPayload('4')),
        live('a","b', 'c', 1, plainPayload('5')),
        live('a', 'b","c', 1, plainPayload('6')),
        live('a\n', '\nc', 1, plainPayload('7')),
      ],
      head: 10,
      sections: { trap: ['system', 'traps'] },
    },
  },
  {
    name: 'ids-beyond-ascii',
    shows: 'digest lines go by UTF-8 bytes, ids by code units: no folding, no normalisation',
    cites: ['JF-15', 'JF-55', 'JF-56'],
    files: {
      [one]:
        ['\ufb33', '\u{1f600}', '\u00e9', 'e\u0301', 'E', 'e', 'z', '\uffff']
          .map((id, k) => ours(k + 1, 'create', 'message', id, 1, { payload: plainPayload(id) }))
          .join('') +
        '{"v":2,"seq":9,"action":"create","item_type":"message","item_id":"\\ud800","payload":{"n":1}}\n' +
        '{"v":2,"seq":10,"action":"create","item_type":"message","item_id":"\\udbff","payload":{"n":2}}\n' +
        '{"v":2,"seq":11,"action":"create","item_type":"message","item_id":"\ufffd","payload":{"n":3}}\n',
    },
    facts: {
      live: [
        ...['\ufb33', '\u{1f600}', '\u00e9', 'e\u0301', 'E', 'e', 'z', '\uffff'].map(id =>
          live('message', id, 1, plainPayload(id)),
        ),
        live('message', '\ud800', null, { n: 1 }),
        live('message', '\udbff', null, { n: 2 }),
        live('message', '\ufffd', null, { n: 3 }),
      ],
      head: 11,
      writer: null,
      sections: inbox,
    },
  },
  {
    name: 'decoys-in-the-payload',
    shows: 'text and keys in a payload that look like the envelope are payload',
    cites: ['JF-22'],
    files: {
      [one]:
        ours(1, 'create', 'message', 'river/1', 1, { payload: mail(1, 'first') }) +
        ours(2, 'create', 'message', 'river/2', 1, {
          payload: {
            ...mail(2, '"item_id":"river/1","item_type":"message"'),
            action: 'delete',
            entity_rev: 99,
            item_id: 'river/1',
            item_type: 'message',
            payload: { item_id: 'river/1' },
            seq: 99,
            tx: { i: 1, id: 'x', n: 2 },
            v: 3,
            writer: 'w_9-9',
          },
        }) +
        ours(3, 'create', 'message', 'river/3', 1, {
          payload: mail(
            3,
            `x","read":true},"seq":99,"summary":"","ts":"${instant(3)}","v":2,"writer":"w_9-9"}`,
          ),
        }) +
        ours(4, 'create', 'message', 'river/4', 1, {
          payload: mail(4, `\n${ours(1, 'delete', 'message', 'river/1', 2)}`),
        }) +
        ours(5, 'create', 'message', 'river/5\\', 1, { payload: mail(5, '\\"\\\\"\\') }),
    },
    facts: {
      live: [
        live('message', 'river/1', 1, mail(1, 'first')),
        live('message', 'river/2', 1, {
          ...mail(2, '"item_id":"river/1","item_type":"message"'),
          action: 'delete',
          entity_rev: 99,
          item_id: 'river/1',
          item_type: 'message',
          payload: { item_id: 'river/1' },
          seq: 99,
          tx: { i: 1, id: 'x', n: 2 },
          v: 3,
          writer: 'w_9-9',
        }),
        live(
          'message',
          'river/3',
          1,
          mail(3, `x","read":true},"seq":99,"summary":"","ts":"${instant(3)}","v":2,"writer":"w_9-9"}`),
        ),
        live('message', 'river/4', 1, mail(4, `\n${ours(1, 'delete', 'message', 'river/1', 2)}`)),
        live('message', 'river/5\\', 1, mail(5, '\\"\\\\"\\')),
      ],
      head: 5,
      sections: inbox,
    },
  },
  {
    name: 'decoys-in-other-fields',
    shows: 'what looks like the envelope inside agent, summary, clock, key or an unknown field is only that',
    cites: ['JF-22'],
    files: {
      [one]:
        ours(1, 'create', 'message', 'river/1', 1, { payload: mail(1, 'first') }) +
        ours(2, 'create', 'message', 'river/2', 1, {
          actor: { item_id: 'river/1', item_type: 'message', kind: 'operator', name: 'n', payload: {} },
          agent: '","entity_rev":9,"item_id":"river/1","item_type":"message',
          key: '"seq":99',
          payload: mail(2, 'second'),
          summary: '","ts":"","v":2,"writer":"w_9-9"}',
        }) +
        ours(3, 'update', 'message', 'river/2', 2, {
          aaa: { action: 'delete', item_id: 'river/1', item_type: 'message' },
          clock: { boot_ms: 1, item_id: 'river/1', mono_ms: 1 },
          item_idx: 'river/1',
          'item_id"': 'river/1',
          payload: mail(2, 'second', true),
          xitem_id: 'river/1',
        }) +
        ours(4, 'update', 'message', 'river/1', 2, {
          payload: mail(1, 'first', true),
          zzz: '"v":2,"writer":"w_9-9"}',
        }) +
        ours(5, 'ponder', 'oddity', 'o', 1, { attempt: { payload: { x: 1 } }, payloads: { x: 1 } }),
    },
    facts: {
      live: [
        live('message', 'river/1', 2, mail(1, 'first', true)),
        live('message', 'river/2', 2, mail(2, 'second', true)),
      ],
      head: 5,
      activity: [5],
      sections: { ...inbox, oddity: ['activity'] },
    },
  },
  {
    name: 'decoy-lines-in-our-frame',
    shows: 'lines that begin and end like ours and are not: keys that stand twice or in another place',
    cites: ['JF-22', 'JF-24'],
    files: {
      [one]:
        ours(1, 'create', 'trap', 'a', 1, { payload: plainPayload('a') }) +
        ours(2, 'create', 'trap', 'b', 1, { payload: plainPayload('b') }) +
        ours(3, 'create', 'trap', 'c', 1, { payload: plainPayload('c') }) +
        `{"action":"update","agent":"river","entity_rev":2,"item_id":"a","item_type":"trap","payload":{"n":1},"seq":4,"summary":"","ts":"${instant(4)}","item_id":"b","v":2,"writer":"${river1}"}\n` +
        `{"action":"update","agent":"river","entity_rev":2,"item_id":"a","item_type":"trap","payload":{"n":2},"seq":5,"summary":"","action":"delete","item_id":"c","ts":"${instant(5)}","v":2,"writer":"${river1}"}\n` +
        `{"action":"update","agent":"river","entity_rev":2,"item_id":"d","item_type":"trap","payload":{"n":3},"seq":6,"summary":"","ts":"${instant(6)}","v":3,"v":2,"writer":"${river1}"}\n` +
        `{"action":"update","agent":"river","entity_rev":3,"item_id":"d","item_type":"trap","payload":{"n":4},"seq":7,"summary":"","ts":"${instant(7)}","v":2,"v":3,"x":"","v":2,"writer":"${river1}"}\n`,
    },
    facts: {
      live: [
        live('trap', 'a', 1, plainPayload('a')),
        live('trap', 'b', 2, { n: 1 }),
        live('trap', 'd', 3, { n: 4 }),
      ],
      head: 7,
      sections: { trap: ['system', 'traps'] },
    },
  },
  {
    name: 'decoy-registry-genesis',
    shows: 'only a journal note of that kind makes the registry authoritative, not a payload that says so',
    cites: ['OB-36'],
    files: {
      [one]:
        foreign(1, 'create', 'journal', { item_id: 'x', payload: { kind: 'registry_genesis' } }) +
        foreign(2, 'journal_note', 'journal', {
          item_id: 'registry_genesis',
          payload: { kind: 'store_marker' },
        }) +
        foreign(3, 'checkpoint_ref', 'journal', { payload: { kind: 'registry_genesis' } }) +
        foreign(4, 'journal_note', 'journal', {
          kind: 'registry_genesis',
          payload: { note: { kind: 'registry_genesis' } },
        }) +
        foreign(5, 'journal_note', 'journal', {
          payload: { kind: 'registry_genesis' },
          tx: { i: 1, id: 'x', n: 2 },
        }) +
        foreign(6, 'run_progress', 'agent_run'),
    },
    facts: {
      live: [live('journal', 'x', null, { kind: 'registry_genesis' })],
      head: 6,
      writer: null,
      anomalies: { tx_incomplete: 1 },
      activity: [6],
      sections: { agent_run: ['activity'] },
    },
  },
]
