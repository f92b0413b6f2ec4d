import { gzipRuns } from './gzip.js'
import { bytes, foreign, type More, ours, oursBare, plainPayload } from './lines.js'
import { live, type Vector } from './vector.js'

// Terminated lines that are no records: each is skipped and counted, and what follows applies.

const traps = { trap: ['system', 'traps'] }

const before = ours(1, 'create', 'trap', 't', 1, { payload: plainPayload('before') })
const after = ours(2, 'update', 'trap', 't', 2, { payload: plainPayload('after') })

/** Bad lines between two good ones. */
const between = (
  name: string,
  shows: string,
  cites: readonly string[],
  bad: readonly (string | Uint8Array)[],
): Vector => ({
  name,
  shows,
  cites,
  files: { 'seg-00000001.jsonl': bytes(before, ...bad.flatMap(line => [line, '\n']), after) },
  facts: {
    live: [live('trap', 't', 2, plainPayload('after'))],
    head: 2,
    anomalies: { malformed: bad.length },
    sections: traps,
  },
})

/** A line in our frame that would overwrite `t`, with one member put differently. */
const spoilt = (find: string, put: string): string => {
  const line = oursBare(2, 'update', 'trap', 't', 2, { payload: plainPayload('spoilt') })
  if (!line.includes(find)) throw new Error(`the line has no ${find}`)
  return line.replace(find, () => put)
}

/** Such a line with bytes in place of the `|` in one of its strings: JSON to a reader that decodes loosely. */
const spoiltBytes = (more: More, bad: readonly number[]): Uint8Array => {
  const [left = '', right = ''] = oursBare(2, 'update', 'trap', 't', 2, more).split('|')
  return bytes(left, Uint8Array.from(bad), right)
}

/** A value whose arrays or objects stand `levels` deep. */
const deep = (levels: number, open: string, close: string, core: string): string =>
  open.repeat(levels) + core + close.repeat(levels)

/** A line of exactly so many bytes, padded with spaces inside its object. */
const padded = (seq: number, id: string, length: number): string => {
  const line = oursBare(seq, 'create', 'trap', id, 1, { payload: plainPayload(id) })
  return `{${' '.repeat(length - line.length)}${line.slice(1)}`
}

const lineMax = 16 * 1024 * 1024

export const malformedVectors: readonly Vector[] = [
  between(
    'garbage-mid-file',
    'garbage between two records does not stop the reader',
    ['JF-20'],
    [
      'this is not JSON',
      '{"v":2,"seq":2,"action":"upd',
      '}',
      '\0\0\0\0\0\0\0\0',
      `${oursBare(2, 'update', 'trap', 't', 2, { payload: plainPayload('twice') })}${oursBare(2, 'update', 'trap', 't', 2, { payload: plainPayload('twice') })}`,
      spoilt('"spoilt"', '"a raw \u0001 control character"'),
      spoilt('"payload":', '"payload"'),
      spoilt('"trap"', '"tr\\xap"'),
      `${spoilt('"spoilt"', '"spoilt"')},`,
    ],
  ),
  between(
    'not-an-object',
    'JSON that is no object',
    ['JF-19'],
    ['[]', '[{"v":2}]', '"text"', '2', 'null', 'true', '{}'],
  ),
  between(
    'seq-unusable',
    'a seq that is no positive safe integer',
    ['JF-19'],
    [
      spoilt('"seq":2,', ''),
      spoilt('"seq":2', '"seq":0'),
      spoilt('"seq":2', '"seq":-2'),
      spoilt('"seq":2', '"seq":2.5'),
      spoilt('"seq":2', '"seq":"2"'),
      spoilt('"seq":2', '"seq":null'),
      spoilt('"seq":2', '"seq":[2]'),
      spoilt('"seq":2', '"seq":9007199254740992'),
      spoilt('"seq":2', '"seq":1e300'),
    ],
  ),
  between(
    'action-or-type-unusable',
    'an action or item_type that is no non-empty string',
    ['JF-19'],
    [
      spoilt('"action":"update",', ''),
      spoilt('"action":"update"', '"action":""'),
      spoilt('"action":"update"', '"action":7'),
      spoilt('"action":"update"', '"action":["update"]'),
      spoilt('"item_type":"trap",', ''),
      spoilt('"item_type":"trap"', '"item_type":""'),
      spoilt('"item_type":"trap"', '"item_type":null'),
    ],
  ),
  between(
    'payload-no-object',
    'a payload that is present and no object; null and arrays are none',
    ['JF-19'],
    [
      ...['null', '[]', '"text"', '0', 'false'].map(value =>
        spoilt('{"schema_version":1,"text":"spoilt"}', value),
      ),
      '{"v":2,"seq":2,"action":"run_progress","item_type":"agent_run","payload":null}',
      '{"v":2,"seq":2,"action":"journal_note","item_type":"journal","payload":[]}',
    ],
  ),
  between(
    'utf8-invalid',
    'bytes that are no UTF-8: overlong, surrogate, beyond U+10FFFF, cut off, stray',
    ['JF-19'],
    [
      ...[
        [0xff],
        [0x80],
        [0xc0, 0xaf],
        [0xe0, 0x80, 0xaf],
        [0xed, 0xa0, 0x80],
        [0xf0, 0x80, 0x80, 0xaf],
        [0xf4, 0x90, 0x80, 0x80],
        [0xe2, 0x82],
        [0xf0, 0x9f, 0x98],
        [0xc3, 0x28],
      ].map(bad => spoiltBytes({ payload: plainPayload('|') }, bad)),
      spoiltBytes({ agent: 'ri|ver' }, [0xfe]),
    ],
  ),
  {
    name: 'utf8-invalid-in-our-frame',
    shows: 'a line that begins and ends as ours do, with a bad byte inside, is malformed all the same',
    cites: ['JF-19', 'JF-20'],
    files: {
      'seg-00000001.jsonl': bytes(
        before,
        spoiltBytes({ payload: plainPayload('|') }, [0xff]),
        '\n',
        ours(3, 'create', 'trap', 'u', 1, { payload: plainPayload('on') }),
      ),
    },
    facts: {
      live: [live('trap', 't', 1, plainPayload('before')), live('trap', 'u', 1, plainPayload('on'))],
      head: 3,
      anomalies: { malformed: 1, seq_hole: 1 },
      sections: traps,
    },
  },
  {
    name: 'newest-line-of-an-entity-is-bad',
    shows: 'the newest line of an entity looks right and fails when it is parsed: the older one stands',
    cites: ['JF-20'],
    files: {
      'seg-00000001.jsonl':
        ['a', 'b', 'c', 'd']
          .map((id, k) => ours(k + 1, 'create', 'trap', id, 1, { payload: plainPayload(id) }))
          .join('') +
        `${oursBare(5, 'update', 'trap', 'a', 2, { payload: plainPayload('bad') }).replace('"bad"', '"bad\\q"')}\n` +
        `${oursBare(6, 'update', 'trap', 'b', 2, { payload: plainPayload('bad') }).replace('"bad"', '1e999')}\n` +
        `${oursBare(7, 'update', 'trap', 'c', 2, { payload: plainPayload('bad') }).replace('"bad"', deep(255, '[', ']', ''))}\n` +
        `${oursBare(8, 'delete', 'trap', 'd', 2).replace('"summary":"delete trap"', '"summary":delete')}\n`,
    },
    facts: {
      live: ['a', 'b', 'c', 'd'].map(id => live('trap', id, 1, plainPayload(id))),
      head: 4,
      anomalies: { malformed: 4 },
      sections: traps,
    },
  },
  {
    name: 'nesting-at-the-limit',
    shows: '256 levels, the record itself the first, are a record',
    cites: ['JF-19'],
    files: {
      'seg-00000001.jsonl':
        `{"v":2,"seq":1,"action":"create","item_type":"trap","item_id":"arrays","payload":{"d":${deep(254, '[', ']', '')}}}\n` +
        `{"v":2,"seq":2,"action":"create","item_type":"trap","item_id":"objects","payload":${deep(254, '{"d":', '}', '{}')}}\n` +
        `{"v":2,"seq":3,"action":"create","item_type":"trap","item_id":"wide","payload":{"d":[${Array(300).fill('[]').join(',')}]}}\n` +
        `{"v":2,"seq":4,"action":"create","item_type":"trap","item_id":"text","payload":{"d":"${'[{'.repeat(300)}"}}\n`,
    },
    facts: {
      live: [
        live('trap', 'arrays', null, { d: JSON.parse(deep(254, '[', ']', '')) }),
        live('trap', 'objects', null, JSON.parse(deep(254, '{"d":', '}', '{}'))),
        live('trap', 'wide', null, { d: Array(300).fill([]) }),
        live('trap', 'text', null, { d: '[{'.repeat(300) }),
      ],
      head: 4,
      writer: null,
      sections: traps,
    },
  },
  between(
    'nesting-over-the-limit',
    '257 levels are malformed, in the payload and in an unknown field',
    ['JF-19'],
    [
      spoilt('"spoilt"', deep(255, '[', ']', '')),
      spoilt('"spoilt"', deep(255, '{"d":', '}', '1')),
      spoilt('"river"', deep(256, '[', ']', '')),
      spoilt('"spoilt"', deep(5000, '[', ']', '')),
      deep(257, '[', ']', ''),
    ],
  ),
  between(
    'number-beyond-double',
    'a number no double holds, anywhere in the line',
    ['JF-19'],
    [
      spoilt('"spoilt"', '1e309'),
      spoilt('"spoilt"', '-1e400'),
      spoilt('"spoilt"', `[{"n":${'9'.repeat(310)}}]`),
      spoilt('"river"', '1e999'),
      spoilt('"entity_rev":2', '"entity_rev":1e999'),
      spoilt('"seq":2', '"seq":1e999'),
      spoilt('"v":2', '"v":1e999'),
    ],
  ),
  {
    name: 'line-at-and-over-the-limit',
    shows: 'a line of 16 MiB is read, one byte more is malformed (both in a gzipped segment of the archive)',
    cites: ['JF-19', 'JF-26', 'G5'],
    files: {
      'archive/seg-00000001.jsonl.gz': gzipRuns(
        bytes(`${padded(1, 'fits', lineMax)}\n${padded(2, 'too-long', lineMax + 1)}\n`),
      ),
      'seg-00000003.jsonl': foreign(3, 'create', 'trap', {
        item_id: 'after',
        payload: plainPayload('after'),
      }),
    },
    facts: {
      live: [
        live('trap', 'fits', 1, plainPayload('fits')),
        live('trap', 'after', null, plainPayload('after')),
      ],
      head: 3,
      writer: null,
      anomalies: { malformed: 1, seq_hole: 1 },
      sections: traps,
    },
  },
]
