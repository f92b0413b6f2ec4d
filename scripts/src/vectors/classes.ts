import type { Live } from './canonical.js'
import { foreign, ours, plainPayload } from './lines.js'
import { live, type Vector } from './vector.js'

// Every verb of every class, each on an entity of its own, with a payload and without: whatever class a verb
// is moved to, its effect changes in one of the two.

const planSections = ['attention', 'backlog', 'in-progress', 'sprints', 'system']

const entityVerbs = [
  'create',
  'update',
  'accept',
  'reject',
  'claim',
  'release_claim',
  'rollback',
  'upgrade',
  'backfill',
]
const metaVerbs = ['checkpoint_ref', 'journal_note', 'seq_repair', 'federation_apply']
const observabilityVerbs = [
  'session_start',
  'session_end',
  'assignment_offered',
  'assignment_progress',
  'run_progress',
]
const assignmentVerbs = [
  'created',
  'accepted',
  'started',
  'completed',
  'cancelled',
  'failed',
  'blocked',
  'timed_out',
  'expired',
  'retrying',
  'rerouted',
  'amended',
].map(verb => `assignment_${verb}`)
const runVerbs = [
  'created',
  'launching',
  'waiting_input',
  'running',
  'blocked',
  'completed',
  'failed',
  'cancelled',
  'timed_out',
  'interrupted',
  'amended',
].map(verb => `run_${verb}`)

/** Lines 2k+1: the verb with a payload on `<verb>`; lines 2k+2: without one on `<verb>-bare`. */
function withAndWithout(verbs: readonly string[], type: string): string {
  return verbs
    .map(
      (verb, k) =>
        ours(2 * k + 1, verb, type, verb, 1, { payload: plainPayload(verb) }) +
        ours(2 * k + 2, verb, type, `${verb}-bare`, 1),
    )
    .join('')
}

/** Lines 3k+1: an entity; 3k+2 and 3k+3: the verb on it, with a payload and without. */
function onStanding(verbs: readonly string[], type: string): string {
  return verbs
    .map(
      (verb, k) =>
        ours(3 * k + 1, 'create', type, verb, 1, { payload: plainPayload('stands') }) +
        ours(3 * k + 2, verb, type, verb, 1, { payload: plainPayload('must not be seen') }) +
        ours(3 * k + 3, verb, type, verb, 1),
    )
    .join('')
}

const standing = (verbs: readonly string[], type: string): Live[] =>
  verbs.map(verb => live(type, verb, 1, plainPayload('stands')))

export const classVectors: readonly Vector[] = [
  {
    name: 'class-entity-state',
    shows: 'the nine entity-state verbs upsert their payload; without one they are activity',
    cites: ['JF-28', 'JF-30', 'JF-31'],
    files: { 'seg-00000001.jsonl': withAndWithout(entityVerbs, 'plan') },
    facts: {
      live: entityVerbs.map(verb => live('plan', verb, 1, plainPayload(verb))),
      head: 18,
      activity: [2, 4, 6, 8, 10, 12, 14, 16, 18],
      sections: { plan: ['activity', ...planSections] },
    },
  },
  {
    name: 'class-tombstone',
    shows: '`delete` removes with a payload and without, and removing what is not there changes nothing',
    cites: ['JF-30', 'JF-32'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'trap', 'a', 1, { payload: plainPayload('a') }) +
        ours(2, 'create', 'trap', 'b', 1, { payload: plainPayload('b') }) +
        ours(3, 'create', 'trap', 'c', 1, { payload: plainPayload('c') }) +
        ours(4, 'delete', 'trap', 'a', 2) +
        ours(5, 'delete', 'trap', 'b', 2, { payload: plainPayload('b') }) +
        ours(6, 'delete', 'receipt', 'never-seen', 1),
    },
    facts: {
      live: [live('trap', 'c', 1, plainPayload('c'))],
      head: 6,
      sections: { receipt: ['inbox'], trap: ['system', 'traps'] },
    },
  },
  {
    name: 'class-journal-meta',
    shows: 'the four journal-meta verbs touch neither state nor activity, whatever they carry',
    cites: ['JF-30', 'JF-39'],
    files: { 'seg-00000001.jsonl': onStanding(metaVerbs, 'trap') },
    facts: { live: standing(metaVerbs, 'trap'), head: 12, sections: { trap: ['system', 'traps'] } },
  },
  {
    name: 'class-observability',
    shows: 'the five observability verbs are activity even with a payload',
    cites: ['JF-28', 'JF-30'],
    files: { 'seg-00000001.jsonl': onStanding(observabilityVerbs, 'sequence') },
    facts: {
      live: standing(observabilityVerbs, 'sequence'),
      head: 15,
      activity: [2, 3, 5, 6, 8, 9, 11, 12, 14, 15],
      sections: { sequence: ['activity', 'sprints'] },
    },
  },
  {
    name: 'class-registry-assignments',
    shows: 'the twelve assignment verbs upsert with a payload and are activity without',
    cites: ['JF-28', 'JF-31'],
    files: { 'seg-00000001.jsonl': withAndWithout(assignmentVerbs, 'assignment') },
    facts: {
      live: assignmentVerbs.map(verb => live('assignment', verb, 1, plainPayload(verb))),
      head: 24,
      activity: [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24],
      sections: { assignment: ['activity', 'attention', 'in-progress'] },
    },
  },
  {
    name: 'class-registry-runs',
    shows: 'the eleven run verbs upsert with a payload and are activity without',
    cites: ['JF-28', 'JF-31'],
    files: { 'seg-00000001.jsonl': withAndWithout(runVerbs, 'agent_run') },
    facts: {
      live: runVerbs.map(verb => live('agent_run', verb, 1, plainPayload(verb))),
      head: 22,
      activity: [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22],
      sections: { agent_run: ['activity', 'agents', 'in-progress'] },
    },
  },
  {
    name: 'class-wildcards',
    shows: 'verbs that only `assignment_*` and `run_*` name are registry-lifecycle',
    cites: ['JF-28'],
    files: {
      'seg-00000001.jsonl': withAndWithout(['assignment_paused', 'run_resumed', 'run_a_b'], 'claim'),
    },
    facts: {
      live: ['assignment_paused', 'run_resumed', 'run_a_b'].map(verb =>
        live('claim', verb, 1, plainPayload(verb)),
      ),
      head: 6,
      activity: [2, 4, 6],
      sections: { claim: ['activity', 'agents', 'in-progress'] },
    },
  },
  {
    name: 'class-wildcard-overlap',
    shows: 'an exact verb beats the wildcard that also matches it: no upsert',
    cites: ['JF-28'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'assignment_created', 'assignment', 'a', 1, { payload: plainPayload('created') }) +
        ours(2, 'assignment_offered', 'assignment', 'a', 2, { payload: plainPayload('offered') }) +
        ours(3, 'assignment_progress', 'assignment', 'b', 1, { payload: plainPayload('progress') }) +
        ours(4, 'run_created', 'agent_run', 'r', 1, { payload: plainPayload('created') }) +
        ours(5, 'run_progress', 'agent_run', 'r', 2, { payload: plainPayload('progress') }) +
        ours(6, 'run_progressed', 'agent_run', 's', 1, { payload: plainPayload('a wildcard alone') }),
    },
    facts: {
      live: [
        live('assignment', 'a', 1, plainPayload('created')),
        live('agent_run', 'r', 1, plainPayload('created')),
        live('agent_run', 's', 1, plainPayload('a wildcard alone')),
      ],
      head: 6,
      activity: [2, 3, 5],
      sections: {
        agent_run: ['activity', 'agents', 'in-progress'],
        assignment: ['activity', 'attention', 'in-progress'],
      },
    },
  },
  {
    name: 'unknown-verb-with-payload',
    shows: 'an unknown verb with payload and item_id is entity-state; a verb is matched exactly',
    cites: ['JF-29'],
    files: {
      'seg-00000001.jsonl':
        ['ponder', 'CREATE', 'delete ', 'runs_done', 'xrun_created', 'assignment', 'toString', '__proto__']
          .map((verb, k) => ours(k + 1, verb, 'decision', `d${k + 1}`, 1, { payload: plainPayload(verb) }))
          .join('') + ours(9, 'constructor', 'decision', 'd1', 2, { payload: plainPayload('last') }),
    },
    facts: {
      live: [
        live('decision', 'd1', 2, plainPayload('last')),
        live('decision', 'd2', 1, plainPayload('CREATE')),
        live('decision', 'd3', 1, plainPayload('delete ')),
        live('decision', 'd4', 1, plainPayload('runs_done')),
        live('decision', 'd5', 1, plainPayload('xrun_created')),
        live('decision', 'd6', 1, plainPayload('assignment')),
        live('decision', 'd7', 1, plainPayload('toString')),
        live('decision', 'd8', 1, plainPayload('__proto__')),
      ],
      head: 9,
      sections: { decision: ['system', 'traps'] },
    },
  },
  {
    name: 'unknown-verb-without-payload',
    shows: 'an unknown verb without payload, or without item_id, is activity',
    cites: ['JF-29'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'decision', 'd', 1, { payload: plainPayload('stands') }) +
        ours(2, 'ponder', 'decision', 'd', 2) +
        ours(3, 'ponder', 'decision', '', 2, { payload: plainPayload('of nothing') }) +
        foreign(4, 'ponder', 'decision', { payload: plainPayload('of nothing') }),
    },
    facts: {
      live: [live('decision', 'd', 1, plainPayload('stands'))],
      head: 4,
      writer: null,
      activity: [2, 3, 4],
      sections: { decision: ['activity', 'system', 'traps'] },
    },
  },
  {
    name: 'item-id-unusable',
    shows: 'without a non-empty string as item_id no class changes state; such a record is activity',
    cites: ['JF-25', 'JF-31'],
    files: {
      'seg-00000001.jsonl':
        foreign(1, 'create', 'trap', { item_id: '1', payload: plainPayload('stands') }) +
        foreign(2, 'create', 'trap', { payload: plainPayload('absent') }) +
        foreign(3, 'update', 'trap', { item_id: '', payload: plainPayload('empty') }) +
        foreign(4, 'update', 'trap', { item_id: 1, payload: plainPayload('number') }) +
        foreign(5, 'update', 'trap', { item_id: null, payload: plainPayload('null') }) +
        foreign(6, 'update', 'trap', { item_id: ['1'], payload: plainPayload('array') }) +
        foreign(7, 'run_created', 'agent_run', { payload: plainPayload('registry') }) +
        foreign(8, 'delete', 'trap', { item_id: 1 }) +
        foreign(9, 'delete', 'trap') +
        foreign(10, 'journal_note', 'trap', { payload: plainPayload('meta stays meta') }),
    },
    facts: {
      live: [live('trap', '1', null, plainPayload('stands'))],
      head: 10,
      writer: null,
      activity: [2, 3, 4, 5, 6, 7, 8, 9],
      sections: { agent_run: ['activity'], trap: ['activity', 'system', 'traps'] },
    },
  },
  {
    name: 'order-is-file-order',
    shows: 'a later line wins although its seq and its entity_rev are lower',
    cites: ['JF-27', 'JF-48'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'trap', 'a', 1, { payload: plainPayload('first') }) +
        ours(3, 'update', 'trap', 'a', 3, { payload: plainPayload('third') }) +
        ours(2, 'update', 'trap', 'a', 2, { payload: plainPayload('second, and last in the file') }),
    },
    facts: {
      live: [live('trap', 'a', 2, plainPayload('second, and last in the file'))],
      head: 3,
      anomalies: { entity_rev_jump: 1, seq_hole: 1, seq_regressed: 1 },
      sections: { trap: ['system', 'traps'] },
    },
  },
  {
    name: 'tombstone-then-recreate',
    shows: 'a record after a tombstone brings the entity back; its revisions go on',
    cites: ['JF-32', 'JF-49'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'binding', 'x', 1, { payload: plainPayload('one') }) +
        ours(2, 'delete', 'binding', 'x', 2) +
        ours(3, 'create', 'binding', 'x', 3, { payload: plainPayload('three') }) +
        ours(4, 'create', 'binding', 'y', 1, { payload: plainPayload('one') }) +
        ours(5, 'delete', 'binding', 'y', 2) +
        ours(6, 'create', 'binding', 'y', 4, { payload: plainPayload('four') }),
    },
    facts: {
      live: [live('binding', 'x', 3, plainPayload('three')), live('binding', 'y', 4, plainPayload('four'))],
      head: 6,
      anomalies: { entity_rev_jump: 1 },
      sections: { binding: ['roster'] },
    },
  },
]
