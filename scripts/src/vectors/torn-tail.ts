import { sha256 } from './canonical.js'
import { bytes, mail, ours, oursBare } from './lines.js'
import { genesis, note, producerStarted, seqRepairLine } from './native.js'
import { live, river2, type Vector } from './vector.js'

// What a crash in the middle of a write leaves: an unterminated last line, and what the next writer makes of it.

const inbox = { message: ['attention', 'inbox'] }
const segment = 'seg-00000001.jsonl'

/** Three records that stand. */
const start =
  genesis() +
  producerStarted(2) +
  ours(3, 'create', 'message', 'river/1', 1, { event: 'new', payload: mail(1, 'one') })
const firstMail = live('message', 'river/1', 1, mail(1, 'one'))

/** The line that was being written: its body ends in a character of four bytes. */
const cutLine = Buffer.from(
  oursBare(4, 'create', 'message', 'river/2', 1, { event: 'new', payload: mail(2, 'two \u{1f600}') }),
)
const characterAt = cutLine.indexOf(Buffer.from('\u{1f600}'))

/** The line up to and including so many bytes of that character. */
const cut = (taken: number): Uint8Array => cutLine.subarray(0, characterAt + taken)

/** The note about a line that recovery ended. */
const adjudicated = (seq: number, from: number, torn: Uint8Array | string): string =>
  note(
    seq,
    'torn_tail_adjudicated',
    { from, segment, sha256: sha256(torn), to: from + Buffer.byteLength(torn) },
    { writer: river2 },
  )

const secondMail = (seq: number): string =>
  ours(seq, 'create', 'message', 'river/2', 1, {
    event: 'new',
    payload: mail(2, 'two \u{1f600}'),
    writer: river2,
  })

/** Where an unterminated line stands, of a journal whose terminated lines are in `start`. */
const waits = (
  name: string,
  shows: string,
  cites: readonly string[],
  fragment: string | Uint8Array,
): Vector => ({
  name,
  shows,
  cites,
  files: { [segment]: bytes(start, fragment) },
  facts: { live: [firstMail], head: 3, activity: [3], sections: inbox },
})

/** The same after a restart: the line was ended, the note names it, and the message came again. */
const ended = (name: string, shows: string, cites: readonly string[], torn: string | Uint8Array): Vector => ({
  name,
  shows,
  cites,
  files: {
    [segment]: bytes(start, torn, '\n', adjudicated(4, Buffer.byteLength(start), torn), secondMail(5)),
  },
  facts: {
    live: [firstMail, live('message', 'river/2', 1, mail(2, 'two \u{1f600}'))],
    head: 5,
    writer: river2,
    anomalies: { malformed: 1 },
    activity: [3, 5],
    sections: inbox,
  },
})

/** A commit of two messages that lost the first to a power cut: its page is zeros, up to the end of that line. */
const lostLine = Buffer.alloc(cutLine.length)
const thirdMail = ours(5, 'create', 'message', 'river/3', 1, { event: 'new', payload: mail(3, 'three') })
const lossPin = (seq: number, rev: number, status: 'open' | 'cleared'): string =>
  ours(seq, rev === 1 ? 'create' : 'update', 'alert', 'river/bounded-window', rev, {
    ...(status === 'open' ? { event: 'alert' } : {}),
    payload: lossPinPayload(status),
    writer: river2,
  })
const lossPinPayload = (status: 'open' | 'cleared'): Record<string, unknown> => ({
  cursor_at: 1,
  kind: 'bounded-window',
  omitted: 0,
  persona: 'river',
  pinned: true,
  reason: 'bounded-window: numbers 4 to 4 hold no record, mail above 1 is asked for again',
  reconciled: 0,
  schema_version: 1,
  status,
  window_floor: status === 'open' ? 0 : 1,
  ...(status === 'open'
    ? { walk: { next_before_id: Number.MAX_SAFE_INTEGER, proven_down_to: Number.MAX_SAFE_INTEGER } }
    : {}),
})
const tornMiddle = bytes(start, lostLine, '\n', thirdMail)
/** What the open after it appends: the pin first, then what was lost by name. */
const recovered = bytes(
  tornMiddle,
  lossPin(6, 1, 'open'),
  seqRepairLine(7, 4, 4, { writer: river2 }),
  adjudicated(8, Buffer.byteLength(start), lostLine),
)
const mails = (...ids: readonly (readonly [number, string])[]) =>
  ids.map(([id, text]) => live('message', `river/${id}`, 1, mail(id, text)))
const withAlert = { ...inbox, alert: ['attention', 'system'] }

const lostMiddles: readonly Vector[] = [
  {
    name: 'torn-middle',
    shows:
      'a power cut took the middle of a commit: a hole and a malformed line, and what is behind it counts',
    cites: ['RC-7', 'JF-84', 'JF-47'],
    files: { [segment]: tornMiddle },
    facts: {
      live: mails([1, 'one'], [3, 'three']),
      head: 5,
      anomalies: { malformed: 1, seq_hole: 1 },
      activity: [3, 5],
      sections: inbox,
      verify: 6,
    },
  },
  {
    name: 'torn-middle-pinned',
    shows: 'the same after the next open: an open pin below the lost mail, then the notes; verify is content',
    cites: ['RC-5', 'RC-7', 'KS-28'],
    files: { [segment]: recovered },
    facts: {
      live: [
        ...mails([1, 'one'], [3, 'three']),
        live('alert', 'river/bounded-window', 1, lossPinPayload('open')),
      ],
      head: 8,
      writer: river2,
      anomalies: { malformed: 1 },
      activity: [3, 5, 6],
      attention: 1,
      sections: withAlert,
    },
  },
  {
    name: 'torn-middle-walked',
    shows: 'the same once the walk brought the lost mail and cleared the pin',
    cites: ['RC-7', 'KS-26', 'KS-28'],
    files: { [segment]: bytes(recovered, secondMail(9), lossPin(10, 2, 'cleared')) },
    facts: {
      live: [
        ...mails([1, 'one'], [3, 'three'], [2, 'two \u{1f600}']),
        live('alert', 'river/bounded-window', 2, lossPinPayload('cleared')),
      ],
      head: 10,
      writer: river2,
      anomalies: { malformed: 1 },
      activity: [3, 5, 6, 9],
      sections: withAlert,
    },
  },
]

const cuts = [0, 1, 2, 3, 4]

export const tornTailVectors: readonly Vector[] = [
  ...lostMiddles,
  ...cuts.map(taken =>
    waits(
      `torn-after-${taken}-of-4-bytes`,
      `a last line cut off after ${taken} of the 4 bytes of a character waits, and is no anomaly`,
      ['T3', 'JF-16', 'RC-4'],
      cut(taken),
    ),
  ),
  ...cuts.map(taken =>
    ended(
      `torn-after-${taken}-of-4-bytes-ended`,
      `the same line once it is ended and adjudicated: malformed, and the next record applies`,
      ['T1', 'JF-20', 'JF-36'],
      cut(taken),
    ),
  ),
  waits(
    'torn-whole-record-unterminated',
    'a last line that parses, without its LF, does not apply yet',
    ['T2', 'JF-16'],
    cutLine,
  ),
  {
    name: 'torn-whole-record-ended',
    shows: 'the same line once a writer has ended it is a record; the next seq follows it',
    cites: ['T2', 'RC-9'],
    files: {
      [segment]: bytes(
        start,
        cutLine,
        '\n',
        ours(5, 'update', 'message', 'river/2', 2, {
          payload: mail(2, 'two \u{1f600}', true),
          writer: river2,
        }),
      ),
    },
    facts: {
      live: [firstMail, live('message', 'river/2', 2, mail(2, 'two \u{1f600}', true))],
      head: 5,
      writer: river2,
      activity: [3, 4],
      sections: inbox,
    },
  },
  waits('torn-blank-unterminated', 'spaces without an LF wait', ['T3'], '  \t '),
  {
    name: 'torn-blank-ended',
    shows: 'spaces that recovery ended are a blank line, which the note may name and no reader counts',
    cites: ['T3', 'JF-17'],
    files: {
      [segment]: `${start}  \t \n${adjudicated(4, Buffer.byteLength(start), '  \t ')}${secondMail(5)}`,
    },
    facts: {
      live: [firstMail, live('message', 'river/2', 1, mail(2, 'two \u{1f600}'))],
      head: 5,
      writer: river2,
      activity: [3, 5],
      sections: inbox,
    },
  },
  waits(
    'torn-future-unterminated',
    'a line of a later version without its LF waits: the reader is not degraded yet',
    ['T3'],
    oursBare(4, 'create', 'message', 'river/2', 1, { payload: mail(2, 'two'), v: 3 }),
  ),
  waits('torn-one-byte', 'one byte without an LF waits', ['T3'], '{'),
  {
    name: 'torn-ended-and-never-adjudicated',
    shows:
      'a malformed line of our own journal that no note names is corruption to verify, nothing to a reader',
    cites: ['JF-20'],
    files: { [segment]: bytes(start, cut(2), '\n', secondMail(4)) },
    facts: {
      live: [firstMail, live('message', 'river/2', 1, mail(2, 'two \u{1f600}'))],
      head: 4,
      writer: river2,
      anomalies: { malformed: 1 },
      activity: [3, 4],
      sections: inbox,
      verify: 6,
    },
  },
  {
    name: 'torn-in-an-older-segment',
    shows: 'an unterminated last line of an older segment is not applied either, nor glued to the next file',
    cites: ['JF-16'],
    files: {
      [segment]: bytes(ours(1, 'create', 'message', 'river/1', 1, { payload: mail(1, 'one') }), cut(4)),
      'seg-00000004.jsonl': bytes(
        '"}}\n',
        ours(4, 'create', 'message', 'river/3', 1, { payload: mail(3, 'three') }),
      ),
    },
    facts: {
      live: [firstMail, live('message', 'river/3', 1, mail(3, 'three'))],
      head: 4,
      anomalies: { malformed: 1, seq_hole: 1 },
      sections: inbox,
    },
  },
  {
    name: 'torn-only-line',
    shows: 'a first record that was never finished: an empty journal',
    cites: ['T9', 'R1'],
    files: { [segment]: genesis().slice(0, 100) },
    facts: {},
  },
  {
    name: 'torn-only-line-parses',
    shows: 'a first record that lacks nothing but its LF: still an empty journal',
    cites: ['T8'],
    files: { [segment]: genesis().trimEnd() },
    facts: {},
  },
]
