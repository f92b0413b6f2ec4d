import { foreign, ours, plainPayload } from './lines.js'
import { live, type Vector } from './vector.js'

// One record of every item type, and what it makes stale; then the attention rule, part by part, each with
// entities that meet it and entities that nearly do.

/** Every item type of the manifest but `runtime_note` (below) with its sections, stated again by hand. */
const sectionsByType: Readonly<Record<string, readonly string[]>> = {
  action: ['attention'],
  agent_run: ['agents', 'in-progress'],
  agent_session: ['activity', 'roster'],
  alert: ['attention', 'system'],
  assignment: ['attention', 'in-progress'],
  binding: ['roster'],
  candidate: ['attention', 'candidates'],
  claim: ['agents', 'in-progress'],
  constraint: ['system', 'traps'],
  decision: ['system', 'traps'],
  decision_point: ['attention', 'gates'],
  gate: ['attention', 'gates'],
  handoff: ['activity', 'system'],
  inbox_item: ['attention', 'inbox'],
  message: ['attention', 'inbox'],
  persona: ['roster'],
  plan: ['attention', 'backlog', 'in-progress', 'sprints', 'system'],
  receipt: ['inbox'],
  sequence: ['sprints'],
  session: ['activity'],
  trap: ['system', 'traps'],
}
const types = Object.keys(sectionsByType)

interface Case {
  readonly type: string
  readonly payload: Record<string, unknown>
}

/** One entity a case, `c1` and on. */
const journalOf = (cases: readonly Case[]): string =>
  cases
    .map(({ type, payload }, k) => foreign(k + 1, 'create', type, { item_id: `c${k + 1}`, payload }))
    .join('')

const attentionVector = (
  name: string,
  shows: string,
  attention: number,
  cases: readonly Case[],
  sections: Readonly<Record<string, readonly string[]>>,
): Vector => ({
  name,
  shows,
  cites: ['OB-34'],
  files: { 'seg-00000001.jsonl': journalOf(cases) },
  facts: {
    live: cases.map(({ type, payload }, k) => live(type, `c${k + 1}`, null, payload)),
    head: cases.length,
    writer: null,
    attention,
    sections,
  },
})

const of = (type: string, ...payloads: readonly Record<string, unknown>[]): Case[] =>
  payloads.map(payload => ({ type, payload }))

const terminalOfAssignments = ['completed', 'failed', 'cancelled', 'timed_out', 'expired']
const terminalOfRuns = ['completed', 'failed', 'cancelled', 'timed_out', 'interrupted']

export const sectionVectors: readonly Vector[] = [
  {
    name: 'sections-of-every-type',
    shows: 'a state record touches the sections of its item type and no others',
    cites: ['OB-32'],
    files: {
      'seg-00000001.jsonl': types
        .map((type, k) => foreign(k + 1, 'create', type, { item_id: 'x', payload: plainPayload(type) }))
        .join(''),
    },
    facts: {
      live: types.map(type => live(type, 'x', null, plainPayload(type))),
      head: 21,
      writer: null,
      // The action has no status, so it waits.
      attention: 1,
      sections: sectionsByType,
    },
  },
  {
    name: 'sections-of-a-runtime-note',
    shows: 'a note of another writer about its run is activity, also while it is live',
    cites: ['OB-32'],
    files: {
      'seg-00000001.jsonl':
        foreign(1, 'create', 'runtime_note', { item_id: 'r', payload: plainPayload('r') }) +
        foreign(2, 'delete', 'runtime_note', { item_id: 'r' }),
    },
    facts: { live: [], head: 2, writer: null, sections: { runtime_note: ['activity'] } },
  },
  {
    name: 'sections-of-a-tombstone',
    shows: 'removing an entity touches the sections of its type',
    cites: ['OB-32'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'gate', 'g', 1, { payload: plainPayload('g') }) + ours(2, 'delete', 'gate', 'g', 2),
    },
    cursor: { checkpoint_seq: 0, seq: 1, writer: 'w_101-a1b2c3' },
    facts: { head: 2, sections: { gate: ['attention', 'gates'] } },
  },
  {
    name: 'sections-of-an-alias',
    shows: '`state` has the sections of `action`, under its own name; both stay two entities',
    cites: ['JF-35'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'state', 'x', 1, { payload: { status: 'done' } }) +
        ours(2, 'create', 'action', 'x', 1, { payload: { status: 'closed' } }),
    },
    facts: {
      live: [live('state', 'x', 1, { status: 'done' }), live('action', 'x', 1, { status: 'closed' })],
      head: 2,
      sections: { action: ['attention'], state: ['attention'] },
    },
  },
  {
    name: 'sections-of-unknown-types',
    shows: 'a type the manifest does not name has no sections; its activity still has one',
    cites: ['OB-32'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'novelty', 'n', 1, { payload: plainPayload('n') }) +
        ours(2, 'create', 'Message', 'm', 1, { payload: plainPayload('case counts') }) +
        ours(3, 'create', 'toString', 't', 1, { payload: plainPayload('t') }) +
        ours(4, 'run_progress', 'oddity', 'o', 1) +
        ours(5, 'journal_note', 'message', 'm', 0, { payload: plainPayload('meta') }),
    },
    facts: {
      live: [
        live('novelty', 'n', 1, plainPayload('n')),
        live('Message', 'm', 1, plainPayload('case counts')),
        live('toString', 't', 1, plainPayload('t')),
      ],
      head: 5,
      activity: [4],
      sections: { oddity: ['activity'] },
    },
  },
  {
    name: 'sections-of-what-is-handed-over',
    shows: 'with a cursor, sections are those of the records after it',
    cites: ['OB-32', 'U5'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'plan', 'p', 1, { payload: plainPayload('p') }) +
        ours(2, 'create', 'receipt', 'r', 1, { payload: plainPayload('r') }) +
        ours(3, 'session_start', 'agent_session', 's', 1, { payload: plainPayload('s') }),
    },
    cursor: { checkpoint_seq: 0, seq: 1, writer: 'w_101-a1b2c3' },
    facts: {
      live: [live('plan', 'p', 1, plainPayload('p')), live('receipt', 'r', 1, plainPayload('r'))],
      head: 3,
      activity: [3],
      sections: { agent_session: ['activity'], receipt: ['inbox'] },
    },
  },
  attentionVector(
    'attention-actions',
    'an action or state waits while it is pending or has no status',
    5,
    [
      ...of('action', { status: 'pending' }, {}, { status: null }),
      ...of('state', { status: 'pending' }, {}),
      ...of('action', { status: 'done' }, { status: 'Pending' }, { status: '' }, { status: 0 }),
      ...of('state', { status: 'done' }),
    ],
    { action: ['attention'], state: ['attention'] },
  ),
  attentionVector(
    'attention-candidates-for-a-person',
    'a pending candidate waits unless it is known to be automatic',
    5,
    of(
      'candidate',
      { status: 'pending' },
      { source: 'human', status: 'pending' },
      { source: 'Auto', status: 'pending' },
      { origin: 'session-end:42', source: 'human', status: 'pending' },
      { origin: 'at session-end:42', status: 'pending' },
    ),
    { candidate: ['attention', 'candidates'] },
  ),
  attentionVector(
    'attention-candidates-automatic',
    'automatic by `source`, or by an `origin` of `session-end:` where source is no string',
    0,
    of(
      'candidate',
      { source: 'auto', status: 'pending' },
      { source: 'automatic', status: 'pending' },
      { origin: 'session-end:42', status: 'pending' },
      { origin: 'session-end:', source: 7, status: 'pending' },
    ),
    { candidate: ['attention', 'candidates'] },
  ),
  attentionVector(
    'attention-candidates-not-pending',
    'a candidate that is not pending, or has no status, does not wait',
    0,
    of(
      'candidate',
      { status: 'accepted' },
      { status: 'rejected' },
      {},
      { source: 'human' },
      { status: null },
    ),
    { candidate: ['attention', 'candidates'] },
  ),
  attentionVector(
    'attention-assignments',
    'a blocked and a failed assignment wait; no other status does',
    2,
    of(
      'assignment',
      ...[
        'blocked',
        'failed',
        'waiting_input',
        'started',
        ...terminalOfAssignments.filter(s => s !== 'failed'),
      ].map(status => ({ status })),
      {},
    ),
    { assignment: ['attention', 'in-progress'] },
  ),
  attentionVector(
    'attention-runs',
    'a blocked, a failed and a run waiting for input wait; no other status does',
    3,
    of(
      'agent_run',
      ...['blocked', 'waiting_input', 'failed', 'running', ...terminalOfRuns.filter(s => s !== 'failed')].map(
        status => ({ status }),
      ),
      {},
    ),
    { agent_run: ['agents', 'in-progress'] },
  ),
  attentionVector(
    'attention-contradicted-assignments',
    'a terminal assignment whose evidence is contradicted waits, once',
    5,
    of(
      'assignment',
      ...terminalOfAssignments.map(status => ({ evidence_contradicted: true, status })),
      { evidence_contradicted: true, status: 'started' },
      { evidence_contradicted: true, status: 'interrupted' },
      { evidence_contradicted: true },
      { evidence_contradicted: 'true', status: 'completed' },
      { evidence_contradicted: 1, status: 'completed' },
      { evidence_contradicted: false, status: 'completed' },
    ),
    { assignment: ['attention', 'in-progress'] },
  ),
  attentionVector(
    'attention-contradicted-runs',
    'a terminal run whose evidence is contradicted waits, once',
    5,
    of(
      'agent_run',
      ...terminalOfRuns.map(status => ({ evidence_contradicted: true, status })),
      { evidence_contradicted: true, status: 'running' },
      { evidence_contradicted: true, status: 'expired' },
      { evidence_contradicted: true },
      { evidence_contradicted: 'true', status: 'completed' },
      { evidence_contradicted: false, status: 'completed' },
    ),
    { agent_run: ['agents', 'in-progress'] },
  ),
  attentionVector(
    'attention-alerts',
    'an open alert waits; a cleared one, or one without status, does not',
    2,
    of('alert', { status: 'open' }, { status: 'open' }, { status: 'cleared' }, {}, { status: true }),
    { alert: ['attention', 'system'] },
  ),
  attentionVector(
    'attention-urgent-mail',
    'every persona adds its `unread_urgent` if that is a count',
    7,
    [
      ...of('persona', { unread_urgent: 3 }, { unread_urgent: 4 }, { unread_urgent: 0 }, {}),
      ...of('persona', { unread_urgent: -2 }, { unread_urgent: 1.5 }, { unread_urgent: '9' }),
      ...of('binding', { unread_urgent: 5 }),
    ],
    { binding: ['roster'], persona: ['roster'] },
  ),
  attentionVector(
    'attention-of-other-types',
    'a status alone asks for nothing: only the types of the rule wait',
    0,
    [
      ...of('plan', { status: 'pending' }, { status: 'blocked' }),
      ...of('gate', { status: 'open' }),
      ...of('message', { evidence_contradicted: true, status: 'failed' }),
      ...of('decision_point', { status: 'pending' }),
    ],
    {
      decision_point: ['attention', 'gates'],
      gate: ['attention', 'gates'],
      message: ['attention', 'inbox'],
      plan: ['attention', 'backlog', 'in-progress', 'sprints', 'system'],
    },
  ),
  {
    name: 'attention-follows-state',
    shows: 'attention is of what is live now: resolved and removed entities ask for nothing',
    cites: ['OB-34'],
    files: {
      'seg-00000001.jsonl':
        ours(1, 'create', 'alert', 'a', 1, { payload: { status: 'open' } }) +
        ours(2, 'create', 'alert', 'b', 1, { payload: { status: 'open' } }) +
        ours(3, 'create', 'alert', 'c', 1, { payload: { status: 'open' } }) +
        ours(4, 'update', 'alert', 'a', 2, { payload: { status: 'cleared' } }) +
        ours(5, 'delete', 'alert', 'b', 2),
    },
    facts: {
      live: [live('alert', 'a', 2, { status: 'cleared' }), live('alert', 'c', 1, { status: 'open' })],
      head: 5,
      attention: 1,
      sections: { alert: ['attention', 'system'] },
    },
  },
]
