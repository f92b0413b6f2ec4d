import { sha256 } from './canonical.js'
import { mail, ours, oursBare, plainPayload } from './lines.js'
import { checkpoint, checkpointRefLine, genesis, note, producerStarted, project, sealed } from './native.js'
import { live, river2, type Vector } from './vector.js'

// Journals of our own writer: what its notes mean, and what verify makes of a journal that is not as it was.

const inbox = { message: ['attention', 'inbox'] }
const seg1 = 'seg-00000001.jsonl'
const seg4 = 'seg-00000004.jsonl'

const arrives = (seq: number, id: number, content = `mail ${id}`): string =>
  ours(seq, 'create', 'message', `river/${id}`, 1, {
    payload: mail(id, content),
    summary: `from argus: ${content}`,
  })
const received = (id: number, content = `mail ${id}`) => live('message', `river/${id}`, 1, mail(id, content))

const registryGenesis = (seq: number): string =>
  note(seq, 'registry_genesis', { missing: [], mode: 'all', personas: ['river'] })

/** A journal of one segment that is damaged as `journal` says; verify exits 6. */
const damaged = (name: string, shows: string, journal: string, facts: Vector['facts']): Vector => ({
  name,
  shows,
  cites: ['OB-65', 'JF-60'],
  files: { [seg1]: journal },
  facts: { sections: inbox, verify: 6, ...facts },
})

// A redaction of river/1, whose record stands in the first of two sealed segments.
const secret = genesis() + arrives(2, 1, 'the secret') + arrives(3, 2)
const redactedLine = ours(2, 'create', 'message', 'river/1', 1, {
  payload: { redacted: true, schema_version: 1 },
  summary: 'redacted',
})
const redacted = genesis() + redactedLine + arrives(3, 2)
const between = sealed(4, seg1, secret, 1, 3) + arrives(5, 3)
const redactionNote = note(
  7,
  'redaction',
  {
    files: [
      {
        after: { bytes: redacted.length, sha256: sha256(redacted) },
        before: { bytes: secret.length, sha256: sha256(secret) },
        segment: seg1,
      },
    ],
    item_id: 'river/1',
    item_type: 'message',
    part: 1,
    parts: 1,
    reason: 'asked for by river',
  },
  { tx: { i: 1, id: 'redact-1', n: 1 } },
)
const newest = sealed(6, seg4, between, 4, 5)
const gone = live('message', 'river/1', 1, { redacted: true, schema_version: 1 })
const afterRedaction = checkpoint({
  head: 5,
  chain: { segment: seg4, sha256: sha256(between) },
  entities: [
    ['message', 'river/1', 1, { redacted: true, schema_version: 1 }, 2],
    ['message', 'river/2', 1, mail(2, 'mail 2'), 3],
    ['message', 'river/3', 1, mail(3, 'mail 3'), 5],
  ],
})

const redactionVectors: readonly Vector[] = [
  {
    name: 'redaction-done',
    shows: 'a redacted segment no longer has its sealed hash; the note leads from one to the other',
    cites: ['D7', 'JF-59', 'JF-75', 'JF-77'],
    files: {
      [seg1]: redacted,
      [seg4]: between,
      'seg-00000006.jsonl':
        newest +
        redactionNote +
        checkpointRefLine(8, 'ckpt-00000005.json', afterRedaction, 5, 3) +
        arrives(9, 4),
      'checkpoints/ckpt-00000005.json': afterRedaction,
    },
    facts: { live: [gone, received(2), received(3), received(4)], head: 9, checkpoint: 5, sections: inbox },
  },
  {
    name: 'redaction-without-its-checkpoint',
    shows: "a redaction that renamed its files and no more: what is left to do is not a reader's concern",
    cites: ['D6', 'JF-76'],
    files: { [seg1]: redacted, [seg4]: between, 'seg-00000006.jsonl': newest + redactionNote },
    facts: { live: [gone, received(2), received(3)], head: 7, sections: inbox },
  },
  {
    name: 'redaction-pending',
    shows:
      'the note stands, the file is the old one: a reader reads the file as it is, verify says it is pending',
    cites: ['D5', 'JF-76', 'OB-66'],
    files: { [seg1]: secret, [seg4]: between, 'seg-00000006.jsonl': newest + redactionNote },
    facts: { live: [received(1, 'the secret'), received(2), received(3)], head: 7, sections: inbox },
  },
  {
    name: 'redaction-pending-beside-its-file',
    shows: 'the same with the new file under its temporary name, which no reader reads',
    cites: ['D4', 'JF-8'],
    files: {
      [seg1]: secret,
      [`.${seg1}.tmp`]: redacted,
      [seg4]: between,
      'seg-00000006.jsonl': newest + redactionNote,
    },
    facts: { live: [received(1, 'the secret'), received(2), received(3)], head: 7, sections: inbox },
  },
  {
    name: 'redaction-never-noted',
    shows: 'temporary files and no note: the redaction never happened',
    cites: ['D1', 'D2'],
    files: { [seg1]: secret, [`.${seg1}.tmp`]: redacted, [seg4]: between, 'seg-00000006.jsonl': newest },
    facts: { live: [received(1, 'the secret'), received(2), received(3)], head: 6, sections: inbox },
  },
  {
    name: 'redaction-leads-elsewhere',
    shows: 'a file that is neither what was sealed nor what the note made of it',
    cites: ['D8', 'JF-59'],
    files: {
      [seg1]: redacted.replace('mail 2', 'mail X'),
      [seg4]: between,
      'seg-00000006.jsonl': newest + redactionNote,
    },
    facts: { live: [gone, received(2, 'mail X'), received(3)], head: 7, sections: inbox, verify: 6 },
  },
]

const registryVectors: readonly Vector[] = [
  {
    name: 'registry-genesis-before-the-entities',
    shows: 'a registry genesis makes the registry authoritative, and it stays so',
    cites: ['OB-36'],
    files: {
      [seg1]:
        genesis() +
        registryGenesis(2) +
        ours(3, 'assignment_created', 'assignment', 'a', 1, { payload: plainPayload('a') }) +
        producerStarted(4),
    },
    facts: {
      live: [live('assignment', 'a', 1, plainPayload('a'))],
      head: 4,
      registry: true,
      sections: { assignment: ['attention', 'in-progress'] },
    },
  },
  {
    name: 'registry-genesis-at-the-end',
    shows: 'and so it does after everything else',
    cites: ['OB-36'],
    files: { [seg1]: genesis() + arrives(2, 1) + registryGenesis(3) },
    facts: { live: [received(1)], head: 3, registry: true, sections: inbox },
  },
  {
    name: 'registry-genesis-without-its-lf',
    shows: 'but not before its line is ended',
    cites: ['OB-36', 'JF-16'],
    files: { [seg1]: genesis() + arrives(2, 1) + registryGenesis(3).trimEnd() },
    facts: { live: [received(1)], head: 2, sections: inbox },
  },
  ...[true, false].map((verified): Vector => {
    const start = genesis() + arrives(2, 1) + registryGenesis(3)
    const file = checkpoint({
      head: 3,
      chain: { segment: seg1, sha256: sha256(start) },
      entities: [['message', 'river/1', 1, mail(1, 'mail 1'), 2]],
      header: { capabilities: ['registry_genesis'] },
    })
    const ref = checkpointRefLine(5, 'ckpt-00000003.json', file, 3, 1)
    return {
      name: verified
        ? 'registry-genesis-only-in-a-checkpoint'
        : 'registry-genesis-only-in-an-unverified-checkpoint',
      shows: verified
        ? 'its segment is gone; the checkpoint that state begins with still knows'
        : 'a checkpoint that no ref vouches for lends nothing, this neither',
      cites: verified ? ['OB-36', 'JF-63'] : ['OB-36', 'RC-15', 'C4'],
      files: {
        [seg4]: sealed(4, seg1, start, 1, 3) + (verified ? ref : arrives(5, 9)) + arrives(6, 2),
        'checkpoints/ckpt-00000003.json': file,
      },
      facts: verified
        ? { live: [received(1), received(2)], head: 6, checkpoint: 3, registry: true, sections: inbox }
        : {
            live: [received(9), received(2)],
            head: 6,
            anomalies: { checkpoint_rejected: 1 },
            sections: inbox,
            status: 'incomplete',
          },
    }
  }),
]

const third = ours(3, 'update', 'message', 'river/1', 2, { payload: mail(1, 'mail 1', true) })

export const noteVectors: readonly Vector[] = [
  ...redactionVectors,
  ...registryVectors,
  {
    name: 'notes-of-every-kind',
    shows: 'no note has an effect on state or activity, known kinds and unknown ones',
    cites: ['JF-38', 'JF-39'],
    files: {
      [seg1]:
        genesis() +
        producerStarted(2) +
        note(3, 'store_marker', { text: 'here' }) +
        arrives(4, 1) +
        note(5, 'producer_stopped', { reason: 'SIGTERM' }) +
        ours(6, 'federation_apply', 'journal', 'federation_apply', 0, {
          agent: 'kim',
          payload: { schema_version: 1 },
        }),
    },
    facts: { live: [received(1)], head: 6, sections: inbox },
  },
  {
    name: 'notes-of-a-kind-nobody-knows',
    shows: 'a note of an unknown kind is a note',
    cites: ['JF-38'],
    files: {
      [seg1]:
        ours(1, 'journal_note', 'journal', 'novelty', 0, {
          agent: 'kim',
          payload: { kind: 'novelty', n: 1 },
        }) +
        ours(2, 'journal_note', 'journal', 'nothing', 0) +
        ours(3, 'journal_note', 'journal', 'odd', 0, { payload: { kind: 7, project_id: 7 } }) +
        arrives(4, 1),
    },
    facts: { live: [received(1)], head: 4, sections: inbox },
  },
  {
    name: 'inbox-story',
    shows: 'first contact, mail, an alert and its end, as our writer journals them',
    cites: ['T1', 'R3', 'OB-65'],
    files: {
      [seg1]:
        genesis() +
        producerStarted(2) +
        ours(3, 'backfill', 'message', 'river/1', 1, { payload: mail(1, 'old', true) }) +
        ours(4, 'backfill', 'persona', 'river', 1, { payload: persona(1, 'up', 0) }) +
        registryGenesis(5) +
        ours(6, 'update', 'persona', 'river', 2, { event: 'armed', payload: persona(1, 'up', 0) }) +
        ours(7, 'create', 'message', 'river/2', 1, { event: 'new', payload: mail(2, 'new') }) +
        ours(8, 'update', 'persona', 'river', 3, { payload: persona(1, 'up', 2) }) +
        ours(9, 'create', 'alert', 'river/unreachable', 1, { event: 'alert', payload: unreachable('open') }) +
        ours(10, 'update', 'alert', 'river/unreachable', 2, {
          event: 'recovered',
          payload: unreachable('cleared'),
        }) +
        ours(11, 'create', 'alert', 'river/stranded-mail', 1, { event: 'alert', payload: stranded() }),
    },
    cursor: { checkpoint_seq: 0, seq: 5, writer: 'w_101-a1b2c3' },
    facts: {
      live: [
        live('message', 'river/1', 1, mail(1, 'old', true)),
        live('message', 'river/2', 1, mail(2, 'new')),
        live('persona', 'river', 3, persona(1, 'up', 2)),
        live('alert', 'river/unreachable', 2, unreachable('cleared')),
        live('alert', 'river/stranded-mail', 1, stranded()),
      ],
      head: 11,
      activity: [6, 7, 9, 10, 11],
      attention: 3,
      news: [
        [6, 'liveness'],
        [7, 'mail'],
        [9, 'diagnostic'],
        [10, 'diagnostic'],
        [11, 'diagnostic'],
      ],
      registry: true,
      sections: { alert: ['attention', 'system'], persona: ['roster'], ...inbox },
    },
  },
  {
    name: 'chain-broken',
    shows: 'a sealed segment of the same length and another content',
    cites: ['JF-58', 'JF-59', 'JF-60'],
    files: {
      [seg1]: secret.replace('the secret', 'the public'),
      [seg4]: between,
    },
    facts: {
      live: [live('message', 'river/1', 1, { ...mail(1, 'the public') }), received(2), received(3)],
      head: 5,
      sections: inbox,
      verify: 6,
    },
  },
  {
    name: 'chain-of-another-project',
    shows: 'a segment whose seal names another project',
    cites: ['JF-9', 'JF-58'],
    files: {
      [seg1]: secret,
      [seg4]: sealed(4, seg1, secret, 1, 3, { project_id: project.replaceAll('0', 'f') }) + arrives(5, 3),
    },
    facts: {
      live: [received(1, 'the secret'), received(2), received(3)],
      head: 5,
      sections: inbox,
      verify: 6,
    },
  },
  damaged(
    'revision-skipped',
    'a revision that skips one where no number is missing',
    genesis() +
      arrives(2, 1) +
      ours(3, 'update', 'message', 'river/1', 3, { payload: mail(1, 'mail 1', true) }),
    {
      live: [live('message', 'river/1', 3, mail(1, 'mail 1', true))],
      head: 3,
      anomalies: { entity_rev_jump: 1 },
    },
  ),
  damaged(
    'revision-repeated',
    'a revision given twice, which a reader does not mind',
    genesis() +
      arrives(2, 1) +
      ours(3, 'update', 'message', 'river/1', 1, { payload: mail(1, 'mail 1', true) }),
    { live: [live('message', 'river/1', 1, mail(1, 'mail 1', true))], head: 3 },
  ),
  {
    name: 'revision-skipped-over-a-hole',
    shows: 'a revision that skips one where a number is missing: the hole explains it',
    cites: ['OB-66', 'JF-49'],
    files: {
      [seg1]:
        genesis() +
        arrives(2, 1) +
        ours(4, 'update', 'message', 'river/1', 3, { payload: mail(1, 'mail 1', true) }),
    },
    facts: {
      live: [live('message', 'river/1', 3, mail(1, 'mail 1', true))],
      head: 4,
      anomalies: { entity_rev_jump: 1, seq_hole: 1 },
      sections: inbox,
      verify: 5,
    },
  },
  damaged(
    'frame-not-ours-in-our-journal',
    'a line in a journal of ours that our writer would have written otherwise',
    `${genesis() + arrives(2, 1)}${third.replace('"action"', ' "action"')}`,
    { live: [live('message', 'river/1', 2, mail(1, 'mail 1', true))], head: 3 },
  ),
  damaged(
    'field-not-ours-in-our-journal',
    'a field the envelope does not have, in a journal of ours',
    genesis() +
      arrives(2, 1) +
      oursBare(3, 'update', 'message', 'river/1', 2, { payload: mail(1, 'mail 1', true), zone: 'x' }) +
      '\n',
    { live: [live('message', 'river/1', 2, mail(1, 'mail 1', true))], head: 3 },
  ),
  damaged(
    'duplicate-seq-in-our-journal',
    'a seq two processes used, in a journal of ours',
    genesis() +
      arrives(2, 1) +
      ours(2, 'create', 'message', 'river/2', 1, { payload: mail(2, 'mail 2'), writer: river2 }),
    {
      live: [received(1), live('message', 'river/2', 1, mail(2, 'mail 2'))],
      head: 2,
      writer: river2,
      anomalies: { duplicate_other_writer: 1 },
    },
  ),
  damaged(
    'seq-regressed-in-our-journal',
    'a seq below the highest that no record had, in a journal of ours',
    genesis() + arrives(3, 1) + arrives(2, 2),
    { live: [received(1), received(2)], head: 3, anomalies: { seq_hole: 1, seq_regressed: 1 } },
  ),
  damaged(
    'garbage-in-our-journal',
    'a malformed line in a journal of ours',
    `${genesis()}garbage\n${arrives(2, 1)}`,
    {
      live: [received(1)],
      head: 2,
      anomalies: { malformed: 1 },
    },
  ),
  {
    name: 'harmless-in-our-journal',
    shows: 'a later version, a misnamed segment and blank lines: nothing that verify weighs',
    cites: ['OB-65'],
    files: {
      [seg1]: `${genesis()}\n${arrives(2, 1)}{"v":3,"seq":3}\n${arrives(4, 2)}`,
      'seg-4.jsonl': 'x',
    },
    facts: {
      live: [received(1), received(2)],
      head: 4,
      anomalies: { future: 1, segment_misnamed: 1 },
      sections: inbox,
      status: 'degraded',
    },
  },
]

/** The payload of the persona river. */
function persona(cursor: number, state: string, urgent: number): Record<string, unknown> {
  return {
    cursor,
    floor: 1,
    persona: 'river',
    schema_version: 1,
    state,
    unread_urgent: urgent,
    watched: true,
  }
}

function unreachable(status: string): Record<string, unknown> {
  return {
    consecutive_failures: 3,
    kind: 'unreachable',
    persona: 'river',
    reason: 'http-502: bad gateway',
    schema_version: 1,
    seconds: 42,
    status,
  }
}

function stranded(): Record<string, unknown> {
  return {
    kind: 'stranded-mail',
    persona: 'river',
    reason: 'stranded-mail: loom',
    schema_version: 1,
    status: 'open',
    stranded_inboxes: ['loom'],
  }
}
