import { bytes, foreign, instant, mail, ours, oursBare, plainPayload } from './lines.js'
import { live, river1, type Vector } from './vector.js'

// How a line may be written and still be a record. Foreign writers write all of these.

const inbox = { message: ['attention', 'inbox'] }
const traps = { trap: ['system', 'traps'] }
const bom = '\uFEFF'

export const framingVectors: readonly Vector[] = [
  {
    name: 'frame-of-our-writer',
    shows: 'the plain case: sorted keys, every field, three entities over two revisions',
    cites: ['JF-11', 'T1', 'R9'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'backfill', 'message', 'river/1', 1, { payload: mail(1, 'one') }) +
        ours(2, 'create', 'message', 'river/2', 1, { payload: mail(2, 'two') }) +
        ours(3, 'update', 'message', 'river/1', 2, { payload: mail(1, 'one', true) }) +
        ours(4, 'create', 'receipt', 'river/1', 1, { payload: plainPayload('read') }),
    },
    facts: {
      live: [
        live('message', 'river/1', 2, mail(1, 'one', true)),
        live('message', 'river/2', 1, mail(2, 'two')),
        live('receipt', 'river/1', 1, plainPayload('read')),
      ],
      head: 4,
      sections: { ...inbox, receipt: ['inbox'] },
    },
  },
  {
    name: 'frame-unsorted-keys',
    shows: 'key order is free, at every depth; the digest does not see it',
    cites: ['JF-24', 'JF-55'],
    files: {
      'seg-00000001.jsonl':
        '{"writer":"w_101-a1b2c3","payload":{"z":1,"a":{"y":2,"b":3}},"item_id":"t","seq":1,"v":2,"item_type":"trap","entity_rev":1,"action":"create"}\n' +
        '{"seq":2,"payload":{"b":[{"d":1,"c":2}],"a":null},"v":2,"action":"create","writer":"w_101-a1b2c3","item_id":"u","item_type":"trap"}\n',
    },
    facts: {
      live: [
        live('trap', 't', 1, { a: { b: 3, y: 2 }, z: 1 }),
        live('trap', 'u', null, { a: null, b: [{ c: 2, d: 1 }] }),
      ],
      head: 2,
      sections: traps,
    },
  },
  {
    name: 'frame-pretty-spaces',
    shows: 'white space around every token, tabs and carriage returns among it',
    cites: ['JF-24'],
    files: {
      'seg-00000001.jsonl':
        ' { "action" : "create" , "entity_rev" : 1 , "item_id" : "t" , "item_type" : "trap" , "payload" : { "a" : [ 1 , 2 ] } , "seq" : 1 , "v" : 2 , "writer" : "w_101-a1b2c3" } \n' +
        '\t{"v":\t2,"seq":2,\r"action":"update","item_type":"trap","item_id":"t","payload":{"a":[]},"writer":"w_101-a1b2c3"}\t\r\n',
    },
    facts: { live: [live('trap', 't', null, { a: [] })], head: 2, sections: traps },
  },
  {
    name: 'frame-blank-lines',
    shows: 'blank lines, and lines of spaces and tabs, are nothing',
    cites: ['JF-17'],
    files: {
      'seg-00000001.jsonl': `${foreign(1, 'create', 'trap', { item_id: 't', payload: plainPayload('1') })}\n\n  \t \n${foreign(2, 'update', 'trap', { item_id: 't', payload: plainPayload('2') })}\n\n`,
    },
    facts: { live: [live('trap', 't', null, plainPayload('2'))], head: 2, writer: null, sections: traps },
  },
  {
    name: 'frame-begins-with-a-blank-line',
    shows: 'every segment of a foreign writer begins with a blank line',
    cites: ['JF-17'],
    files: {
      'seg-00000001.jsonl': `\n${ours(1, 'create', 'trap', 't', 1, { payload: plainPayload('1') })}\n${ours(2, 'update', 'trap', 't', 2, { payload: plainPayload('2') })}`,
      'seg-00000003.jsonl': `\n${ours(3, 'update', 'trap', 't', 3, { payload: plainPayload('3') })}`,
    },
    facts: { live: [live('trap', 't', 3, plainPayload('3'))], head: 3, sections: traps },
  },
  {
    name: 'frame-without-optional-fields',
    shows: 'v, seq, action and item_type make a record; no rev is an empty field in the digest',
    cites: ['JF-24', 'JF-55'],
    files: {
      'seg-00000001.jsonl':
        '{"v":2,"seq":1,"action":"create","item_type":"trap","item_id":"t","payload":{}}\n{"v":2,"seq":2,"action":"session_end","item_type":"session"}\n',
    },
    facts: {
      live: [live('trap', 't', null, {})],
      head: 2,
      writer: null,
      activity: [2],
      sections: { session: ['activity'], ...traps },
    },
  },
  {
    name: 'frame-fields-of-other-types',
    shows: 'an optional field of another type counts as absent and spoils nothing',
    cites: ['JF-24'],
    files: {
      'seg-00000001.jsonl':
        foreign(1, 'create', 'trap', {
          item_id: 'a',
          entity_rev: '1',
          writer: 7,
          payload: plainPayload('a'),
        }) +
        foreign(2, 'create', 'trap', {
          item_id: 'b',
          entity_rev: -1,
          ts: 5,
          agent: null,
          payload: plainPayload('b'),
        }) +
        foreign(3, 'create', 'trap', {
          item_id: 'c',
          entity_rev: 1.5,
          summary: [],
          payload: plainPayload('c'),
        }) +
        foreign(4, 'create', 'trap', {
          item_id: 'd',
          entity_rev: 9007199254740992,
          payload: plainPayload('d'),
        }) +
        foreign(5, 'create', 'trap', { item_id: 'e', entity_rev: 0, key: 1, payload: plainPayload('e') }) +
        foreign(6, 'create', 'trap', { item_id: 'f', clock: 'noon', actor: 3, payload: plainPayload('f') }) +
        foreign(7, 'create', 'trap', {
          item_id: 'g',
          entity_rev: 9007199254740991,
          payload: plainPayload('g'),
        }),
    },
    facts: {
      live: [
        live('trap', 'a', null, plainPayload('a')),
        live('trap', 'b', null, plainPayload('b')),
        live('trap', 'c', null, plainPayload('c')),
        live('trap', 'd', null, plainPayload('d')),
        live('trap', 'e', 0, plainPayload('e')),
        live('trap', 'f', null, plainPayload('f')),
        live('trap', 'g', 9007199254740991, plainPayload('g')),
      ],
      head: 7,
      writer: null,
      sections: traps,
    },
  },
  {
    name: 'frame-crlf',
    shows: 'lines that end in CR LF; a line of a lone CR is blank',
    cites: ['JF-17', 'JF-18'],
    files: {
      'seg-00000001.jsonl': `${oursBare(1, 'create', 'trap', 't', 1, { payload: plainPayload('1') })}\r\n\r\n${oursBare(2, 'update', 'trap', 't', 2, { payload: plainPayload('2') })}\r\n`,
    },
    facts: { live: [live('trap', 't', 2, plainPayload('2'))], head: 2, sections: traps },
  },
  {
    name: 'frame-cr-is-no-line-end',
    shows: 'only LF ends a line: two objects with a CR between them are one malformed line',
    cites: ['JF-18', 'JF-19'],
    files: {
      'seg-00000001.jsonl': `${oursBare(1, 'create', 'trap', 't', 1, { payload: plainPayload('1') })}\r${oursBare(2, 'update', 'trap', 't', 2, { payload: plainPayload('2') })}\n${ours(3, 'create', 'trap', 'u', 1, { payload: plainPayload('3') })}`,
    },
    facts: {
      live: [live('trap', 'u', 1, plainPayload('3'))],
      head: 3,
      anomalies: { malformed: 1, seq_hole: 1 },
      sections: traps,
    },
  },
  {
    name: 'frame-unicode-separators',
    shows: 'U+2028, U+2029 and U+0085 in a string neither end a line nor are white space',
    cites: ['JF-19'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'trap', 't', 1, { payload: plainPayload('a\u2028b\u2029c\u0085d') }) +
        `\u00a0${ours(2, 'update', 'trap', 't', 2, { payload: plainPayload('a no-break space before it') })}` +
        '\u000b\n' +
        '\u2003\n',
    },
    facts: {
      live: [live('trap', 't', 1, plainPayload('a\u2028b\u2029c\u0085d'))],
      head: 1,
      anomalies: { malformed: 3 },
      sections: traps,
    },
  },
  {
    name: 'bom-at-byte-0',
    shows: 'a byte order mark at byte 0 of a segment is skipped, in every segment',
    cites: ['JF-18'],
    files: {
      'seg-00000001.jsonl': bom + ours(1, 'create', 'trap', 't', 1, { payload: plainPayload('1') }),
      'seg-00000002.jsonl': bom + ours(2, 'create', 'trap', 'u', 1, { payload: plainPayload('2') }),
      'seg-00000003.jsonl': `${bom}\n${ours(3, 'create', 'trap', 'w', 1, { payload: plainPayload('3') })}`,
    },
    facts: {
      live: [
        live('trap', 't', 1, plainPayload('1')),
        live('trap', 'u', 1, plainPayload('2')),
        live('trap', 'w', 1, plainPayload('3')),
      ],
      head: 3,
      sections: traps,
    },
  },
  {
    name: 'bom-elsewhere',
    shows: 'a byte order mark before any other token makes its line malformed',
    cites: ['JF-18'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'trap', 't', 1, { payload: plainPayload('1') }) +
        bom +
        ours(2, 'update', 'trap', 't', 2, { payload: plainPayload('2') }) +
        `${oursBare(3, 'update', 'trap', 't', 3, { payload: plainPayload('3') })}${bom}\n` +
        `${bom}\n`,
      'seg-00000004.jsonl': bom + bom + ours(4, 'update', 'trap', 't', 4, { payload: plainPayload('4') }),
      'seg-00000005.jsonl': `\n${bom}${ours(5, 'update', 'trap', 't', 5, { payload: plainPayload('5') })}`,
    },
    facts: {
      live: [live('trap', 't', 1, plainPayload('1'))],
      head: 1,
      anomalies: { malformed: 5 },
      sections: traps,
    },
  },
  {
    name: 'bom-inside-a-string',
    shows: 'U+FEFF inside a string is a character of that string',
    cites: ['JF-19'],
    files: {
      'seg-00000001.jsonl': ours(1, 'create', 'message', 'river/1', 1, {
        payload: mail(1, `zero${bom}width`),
        summary: `${bom}from argus`,
      }),
    },
    facts: { live: [live('message', 'river/1', 1, mail(1, `zero${bom}width`))], head: 1, sections: inbox },
  },
  {
    name: 'duplicate-keys',
    shows: 'where a key stands twice the last one counts, at the top and inside the payload',
    cites: ['JF-22'],
    files: {
      'seg-00000001.jsonl':
        '{"action":"create","entity_rev":1,"item_id":"first","item_id":"last","item_type":"trap","payload":{"a":1},"payload":{"a":2,"a":3},"seq":9,"seq":1,"v":3,"v":2,"writer":"w_9-9","writer":"w_101-a1b2c3"}\n' +
        '{"action":"create","action":"delete","entity_rev":2,"item_id":"gone","item_type":"trap","seq":2,"v":2,"writer":"w_101-a1b2c3"}\n' +
        '{"action":"delete","action":"update","entity_rev":2,"item_id":"last","item_type":"message","item_type":"trap","payload":{"b":1},"payload":{"b":2},"seq":3,"v":2,"writer":"w_101-a1b2c3"}\n',
    },
    facts: { live: [live('trap', 'last', 2, { b: 2 })], head: 3, sections: traps },
  },
  {
    name: 'escaped-keys-and-values',
    shows: 'names and values written with escapes are the names and values they spell',
    cites: ['JF-22'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'trap', 'a', 1, { payload: plainPayload('one') }) +
        '{"\\u0061ction":"upd\\u0061te","entity_rev":2,"item\\u005fid":"\\u0061","item_type":"tr\\u0061p","payload":{"schema_version":1,"te\\u0078t":"tw\\u006f"},"seq":2,"v":2,"writer":"w_101-a1b2c3"}\n' +
        ours(3, 'create', 'trap', 'b', 1, { payload: plainPayload('stays?') }) +
        '{"action":"d\\u0065lete","entity_rev":2,"item_id":"\\u0062","item_type":"trap","seq":4,"v":2,"writer":"w_101-a1b2c3"}\n' +
        '{"action":"create","entity_rev":1,"item_id":"a\\/b","item_type":"trap","payload":{"schema_version":1,"text":"\\/"},"seq":5,"v":2,"writer":"w_101-a1b2c3"}\n' +
        '{"action":"update","entity_rev":2,"item_id":"a/b","item_type":"trap","payload":{"schema_version":1,"text":"solidus"},"seq":6,"v":2,"writer":"w_101-a1b2c3"}\n',
    },
    facts: {
      live: [live('trap', 'a', 2, plainPayload('two')), live('trap', 'a/b', 2, plainPayload('solidus'))],
      head: 6,
      sections: traps,
    },
  },
  {
    name: 'unknown-fields',
    shows: 'unknown fields are ignored, wherever they sort and whatever they hold',
    cites: ['JF-22', 'JF-24'],
    files: {
      'seg-00000001.jsonl':
        '{"_":0,"action":"create","class":"tombstone","entity_rev":1,"item_id":"t","item_type":"trap","payload":{"a":1},"seq":1,"v":2,"writer":"w_101-a1b2c3","zz":{"seq":9}}\n' +
        '{"Action":"delete","action":"update","entity_rev":2,"item_id":"t","item_type":"trap","itemId":"u","payload":{"a":2},"payloads":null,"seq":2,"v":2,"version":3,"writer":"w_101-a1b2c3"}\n',
    },
    facts: { live: [live('trap', 't', 2, { a: 2 })], head: 2, sections: traps },
  },
  {
    name: 'seq-written-as-a-fraction',
    shows: '`5.0`, `5e0` and `2.0` are the integers they equal; -0 is a revision of 0',
    cites: ['JF-23'],
    files: {
      'seg-00000001.jsonl':
        '{"action":"create","entity_rev":1.0,"item_id":"t","item_type":"trap","payload":{"a":1},"seq":1.0,"v":2.0,"writer":"w_101-a1b2c3"}\n' +
        '{"action":"create","entity_rev":-0,"item_id":"u","item_type":"trap","payload":{"a":-0},"seq":2e0,"v":20e-1,"writer":"w_101-a1b2c3"}\n',
    },
    facts: {
      live: [live('trap', 't', 1, { a: 1 }), live('trap', 'u', 0, { a: 0 })],
      head: 2,
      sections: traps,
    },
  },
  {
    name: 'canonical-numbers',
    shows: 'numbers in the digest are as ECMAScript writes them, not as the line does',
    cites: ['JF-55'],
    files: {
      'seg-00000001.jsonl': `{"action":"create","agent":"river","entity_rev":1,"item_id":"n","item_type":"trap","payload":{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,-0.0,100,1e21,123456789012345680000,1e-7,0.000001,9007199254740993,5e-324,1.7976931348623157e308,1e-400]},"seq":1,"summary":"","ts":"${instant(1)}","v":2,"writer":"${river1}"}\n`,
    },
    facts: {
      live: [
        live('trap', 'n', 1, {
          numbers: [
            333333333.3333333, 1e30, 4.5, 0.002, 1e-27, 0, 100, 1e21, 123456789012345680000, 1e-7, 0.000001,
            9007199254740992, 5e-324, 1.7976931348623157e308, 0,
          ],
        }),
      ],
      head: 1,
      sections: traps,
    },
  },
  {
    name: 'canonical-keys',
    shows: 'keys in the digest go by UTF-16 units: a surrogate pair stands before U+FB33, `10` before `9`',
    cites: ['JF-55'],
    files: {
      'seg-00000001.jsonl': ours(1, 'create', 'trap', 'k', 1, {
        payload: {
          '\u20ac': 'Euro',
          '\r': 'Carriage Return',
          '\ufb33': 'Dalet',
          '1': 'One',
          '10': 'Ten',
          '9': 'Nine',
          '\ud83d\ude00': 'Emoji',
          '\u0080': 'Control',
          '\u00f6': 'O umlaut',
          '': 'Empty',
          a: 'lower',
          B: 'upper',
        },
      }),
    },
    facts: {
      live: [
        live('trap', 'k', 1, {
          '': 'Empty',
          '\r': 'Carriage Return',
          '1': 'One',
          '10': 'Ten',
          '9': 'Nine',
          B: 'upper',
          a: 'lower',
          '\u0080': 'Control',
          '\u00f6': 'O umlaut',
          '\u20ac': 'Euro',
          '\ud83d\ude00': 'Emoji',
          '\ufb33': 'Dalet',
        }),
      ],
      head: 1,
      sections: traps,
    },
  },
  {
    name: 'canonical-strings',
    shows: 'escapes in the digest are the shortest ones; a lone surrogate is an escape there',
    cites: ['JF-55', 'JF-56'],
    files: {
      'seg-00000001.jsonl': bytes(
        '{"v":2,"seq":1,"action":"create","item_type":"trap","item_id":"s","payload":{"s":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/\\u007f\\u2028\\b\\f\\t","lone":["\\uD800","x\\udfffy","\\ud83d\\ude00"]}}\n',
      ),
    },
    facts: {
      live: [
        live('trap', 's', null, {
          lone: ['\ud800', 'x\udfffy', '\u{1f600}'],
          s: '\u20ac$\u000f\nA\'B"\\\\"/\u007f\u2028\b\f\t',
        }),
      ],
      head: 1,
      writer: null,
      sections: traps,
    },
  },
]
