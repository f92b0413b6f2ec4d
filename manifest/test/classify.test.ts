import {
  actionClasses,
  alertFacts,
  alertKinds,
  attentionOf,
  classOf,
  deliveryTriesOf,
  effectOf,
  entersActivity,
  forgetsRevision,
  isAccountAlertKind,
  isAlertKind,
  isNews,
  isRegistryFamily,
  isRegistryGenesis,
  sectionsOf,
  wakeClassOf,
} from '@kim/manifest'
import t from 'tap'
import type { Classifiable } from '../dist/classify.js'

const upserting = 'create update accept reject claim release_claim rollback upgrade backfill'.split(' ')
const meta = 'checkpoint_ref journal_note seq_repair federation_apply'.split(' ')
const observed = 'session_start session_end assignment_offered assignment_progress run_progress'.split(' ')
const registry = [
  ...'created accepted started completed cancelled failed blocked timed_out expired retrying rerouted amended'
    .split(' ')
    .map(verb => `assignment_${verb}`),
  ...'created launching waiting_input running blocked completed failed cancelled timed_out interrupted amended'
    .split(' ')
    .map(verb => `run_${verb}`),
]

const touching = (action: string, fields: Partial<Classifiable> = {}): Classifiable => ({
  action,
  item_type: 'message',
  item_id: 'x',
  payload: {},
  ...fields,
})
const without = (action: string): Classifiable => ({ action, item_type: 'message', item_id: 'x' })

t.test('effects - of the 42 verbs, with a payload and without, JF-30 JF-31', async t => {
  t.equal(new Set([...upserting, 'delete', ...meta, ...observed, ...registry]).size, 42)
  for (const verb of upserting) {
    t.equal(classOf(verb), 'entity-state', verb)
    t.equal(effectOf(touching(verb)), 'upsert', verb)
    t.equal(effectOf(without(verb)), 'activity', verb)
  }
  t.equal(classOf('delete'), 'tombstone')
  t.equal(effectOf(touching('delete')), 'remove')
  t.equal(effectOf(without('delete')), 'remove')
  for (const verb of meta) {
    t.equal(classOf(verb), 'journal-meta', verb)
    t.equal(effectOf(touching(verb)), 'meta', verb)
    t.equal(effectOf(without(verb)), 'meta', verb)
  }
  for (const verb of observed) {
    t.equal(classOf(verb), 'observability', verb)
    t.equal(effectOf(touching(verb)), 'activity', verb)
    t.equal(effectOf(without(verb)), 'activity', verb)
  }
  for (const verb of registry) {
    t.equal(classOf(verb), 'registry-lifecycle', verb)
    t.equal(effectOf(touching(verb)), 'upsert', verb)
    t.equal(effectOf(without(verb)), 'activity', verb)
  }
})

t.test('effects - an exact verb beats a wildcard, and wildcards take the rest, JF-28', async t => {
  t.equal(classOf('assignment_progress'), 'observability')
  t.equal(classOf('assignment_paused'), 'registry-lifecycle')
  t.equal(classOf('run_paused'), 'registry-lifecycle')
  t.equal(effectOf(touching('run_paused')), 'upsert')
  t.equal(effectOf(without('assignment_paused')), 'activity')
  t.equal(classOf('runs_paused'), undefined)
  t.equal(classOf('Run_created'), undefined)
})

t.test('effects - an unknown verb upserts with payload and id, else it is activity, JF-29', async t => {
  for (const verb of ['frobnicate', 'constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    t.equal(classOf(verb), undefined, verb)
    t.equal(effectOf(touching(verb)), 'upsert', verb)
    t.equal(effectOf(without(verb)), 'activity', verb)
    t.equal(effectOf(touching(verb, { item_id: undefined })), 'activity', verb)
  }
})

t.test('effects - a valid ref counts as a payload, JF-52', async t => {
  const payload_ref = { sha256: 'a'.repeat(64), bytes: 1 }
  t.equal(effectOf({ ...without('create'), payload_ref }), 'upsert')
  t.equal(effectOf({ ...without('run_created'), payload_ref }), 'upsert')
})

t.test('effects - without an item_id nothing changes state, JF-25 JF-31', async t => {
  for (const verb of ['create', 'delete', 'run_created', 'frobnicate']) {
    t.equal(effectOf(touching(verb, { item_id: undefined })), 'activity', verb)
  }
  t.equal(effectOf(touching('journal_note', { item_id: undefined })), 'meta')
})

t.test('sections - of every item type, OB-32', async t => {
  const sections: Record<string, string[]> = {
    plan: ['in-progress', 'sprints', 'backlog', 'attention', 'system'],
    claim: ['in-progress', 'agents'],
    assignment: ['in-progress', 'attention'],
    agent_run: ['in-progress', 'agents'],
    candidate: ['attention', 'candidates'],
    action: ['attention'],
    state: ['attention'],
    constraint: ['system', 'traps'],
    decision: ['system', 'traps'],
    trap: ['system', 'traps'],
    handoff: ['activity', 'system'],
    runtime_note: ['activity'],
    sequence: ['sprints'],
    session: ['activity'],
    message: ['inbox', 'attention'],
    inbox_item: ['inbox', 'attention'],
    persona: ['roster'],
    binding: ['roster'],
    alert: ['attention', 'system'],
    receipt: ['inbox'],
    gate: ['gates', 'attention'],
    decision_point: ['gates', 'attention'],
    agent_session: ['roster', 'activity'],
    never_heard_of: [],
    ['__proto__']: [],
    constructor: [],
  }
  for (const [item_type, expected] of Object.entries(sections)) {
    t.same(sectionsOf(touching('update', { item_type })), expected, item_type)
    t.same(sectionsOf({ action: 'delete', item_type, item_id: 'x' }), expected, `${item_type} removed`)
  }
  t.same(
    Object.keys(sections)
      .filter(type => sections[type]?.length)
      .sort(),
    [...Object.keys(actionClasses.item_types), ...Object.keys(actionClasses.item_type_aliases)].sort(),
  )
})

t.test('sections - activity makes activity stale and a note makes nothing stale, OB-32', async t => {
  t.same(sectionsOf(touching('run_progress', { item_type: 'agent_run' })), ['activity'])
  t.same(sectionsOf(touching('session_start', { item_type: 'session' })), ['activity'])
  t.same(sectionsOf({ action: 'update', item_type: 'plan', item_id: 'x' }), ['activity'])
  t.same(sectionsOf(touching('journal_note', { item_type: 'journal' })), [])
})

t.test('sections - the board has the seventeen and our three', async t => {
  t.same(
    Object.keys(actionClasses.sections),
    'attention in-progress sprints backlog system agents candidates activity plans claims assignments runs actions handoffs sprint traps cross-project inbox roster gates'.split(
      ' ',
    ),
  )
  const used = Object.values(actionClasses.item_types).flatMap(type => type.sections as readonly string[])
  t.same(
    used.filter(section => !Object.hasOwn(actionClasses.sections, section)),
    [],
  )
})

t.test('wake - new is mail, armed and heartbeat are liveness, the rest is diagnostic, JF-33', async t => {
  t.equal(wakeClassOf('new'), 'mail')
  t.equal(wakeClassOf('armed'), 'liveness')
  t.equal(wakeClassOf('heartbeat'), 'liveness')
  const diagnostic =
    'alert recovered seed_ahead replay_capped state_corrupt baseline_skipped persona_added never_heard_of New constructor __proto__'
  for (const event of diagnostic.split(' ')) t.equal(wakeClassOf(event), 'diagnostic', event)
})

t.test('news - is what carries an event, backfill never, JF-33 OB-45', async t => {
  t.ok(isNews(touching('create', { event: 'new' })))
  t.ok(isNews(touching('frobnicate', { event: 'x' })))
  t.notOk(isNews(touching('create')))
  t.notOk(isNews(touching('backfill', { event: 'new' })))
})

t.test('activity - is what changes nothing, and what carries an event, JF-34', async t => {
  t.ok(entersActivity(touching('run_progress')))
  t.ok(entersActivity(without('update')))
  t.ok(entersActivity(touching('create', { event: 'new' })))
  t.notOk(entersActivity(touching('create')))
  t.notOk(entersActivity(touching('journal_note')))
})

t.test('attention - each rule, each entity once, OB-34', async t => {
  const count = (item_type: string, payload: object): number =>
    attentionOf([{ item_type, payload: payload as Record<string, never> }])
  const cases: [number, string, object][] = [
    [1, 'action', { status: 'pending' }],
    [1, 'state', { status: 'pending' }],
    [1, 'action', {}],
    [1, 'action', { status: null }],
    [0, 'action', { status: 'done' }],
    [0, 'action', { status: '' }],
    [1, 'candidate', { status: 'pending' }],
    [0, 'candidate', {}],
    [0, 'candidate', { status: 'accepted' }],
    [0, 'candidate', { status: 'pending', source: 'auto' }],
    [0, 'candidate', { status: 'pending', source: 'automatic' }],
    [1, 'candidate', { status: 'pending', source: 'manual', origin: 'session-end:1' }],
    [0, 'candidate', { status: 'pending', origin: 'session-end:1' }],
    [0, 'candidate', { status: 'pending', source: 7, origin: 'session-end:' }],
    [1, 'candidate', { status: 'pending', origin: 'session-ended' }],
    [1, 'candidate', { status: 'pending', origin: ['session-end:'] }],
    [1, 'assignment', { status: 'blocked' }],
    [1, 'assignment', { status: 'failed' }],
    [1, 'assignment', { status: 'failed', evidence_contradicted: true }],
    [0, 'assignment', { status: 'completed' }],
    [0, 'assignment', { status: 'started', evidence_contradicted: true }],
    [0, 'assignment', { status: 'interrupted', evidence_contradicted: true }],
    [0, 'assignment', { status: 'completed', evidence_contradicted: 'true' }],
    [1, 'agent_run', { status: 'blocked' }],
    [1, 'agent_run', { status: 'waiting_input' }],
    [1, 'agent_run', { status: 'failed' }],
    [0, 'agent_run', { status: 'running', evidence_contradicted: true }],
    [0, 'agent_run', { status: 'expired', evidence_contradicted: true }],
    [1, 'alert', { status: 'open' }],
    [0, 'alert', { status: 'cleared' }],
    [3, 'persona', { unread_urgent: 3 }],
    [0, 'persona', { unread_urgent: -3 }],
    [0, 'persona', { unread_urgent: 1.5 }],
    [0, 'persona', { unread_urgent: '3' }],
    [0, 'persona', {}],
    [0, 'message', { status: 'pending' }],
    [0, '__proto__', { status: 'pending' }],
  ]
  for (const status of ['completed', 'failed', 'cancelled', 'timed_out', 'expired']) {
    cases.push([1, 'assignment', { status, evidence_contradicted: true }])
  }
  for (const status of ['completed', 'failed', 'cancelled', 'timed_out', 'interrupted']) {
    cases.push([1, 'agent_run', { status, evidence_contradicted: true }])
  }
  for (const [expected, type, payload] of cases) {
    t.equal(count(type, payload), expected, `${type} ${JSON.stringify(payload)}`)
  }
  t.equal(
    attentionOf(
      cases.map(([, item_type, payload]) => ({ item_type, payload: payload as Record<string, never> })),
    ),
    cases.reduce((sum, [expected]) => sum + expected, 0),
    'all together',
  )
  const payload_ref = { sha256: 'a'.repeat(64), bytes: 1 }
  t.equal(
    attentionOf([{ item_type: 'action', payload_ref }]),
    0,
    'a payload that is not at hand meets no rule',
  )
})

t.test('registry - genesis and the families it makes authoritative, OB-36 OB-37', async t => {
  t.ok(isRegistryGenesis(touching('journal_note', { payload: { kind: 'registry_genesis' } })))
  t.notOk(isRegistryGenesis(touching('journal_note', { payload: { kind: 'genesis' } })))
  t.notOk(isRegistryGenesis(touching('create', { payload: { kind: 'registry_genesis' } })))
  t.notOk(isRegistryGenesis(without('journal_note')))
  for (const type of ['claim', 'assignment', 'agent_run', 'action', 'state'])
    t.ok(isRegistryFamily(type), type)
  for (const type of ['message', 'agent', 'session', 'constructor']) t.notOk(isRegistryFamily(type), type)
})

t.test('revisions - only those of messages end with a delete, JF-63', async t => {
  t.ok(forgetsRevision('message'))
  for (const type of ['persona', 'alert', 'never_heard_of', '__proto__']) t.notOk(forgetsRevision(type), type)
})

t.test('tries - mail is tried until it is taken, all else a few times, KS-72', async t => {
  t.equal(deliveryTriesOf('new'), Number.POSITIVE_INFINITY)
  for (const event of ['armed', 'heartbeat', 'recovered']) t.equal(deliveryTriesOf(event), 1, event)
  const diagnostic = 'alert seed_ahead replay_capped baseline_skipped persona_added never_heard_of __proto__'
  for (const event of diagnostic.split(' ')) t.equal(deliveryTriesOf(event), 5, event)
})

t.test('alerts - what is known of a kind is data, and nothing is known of another', async t => {
  t.same([...alertKinds.keys()].filter(isAccountAlertKind), ['stranded-mail', 'urgent-unanswered'])
  t.match(alertFacts({ kind: 'unreachable' }), { is_outage: true })
  t.match(alertFacts({ kind: 'bounded-window' }), { is_gap: true })
  t.match(alertFacts({ kind: 'urgent-unanswered' }), { is_urgent: true })
  for (const kind of ['never_heard_of', '__proto__', 7, null]) {
    t.same(alertFacts({ kind }), {}, String(kind))
    t.notOk(isAlertKind(kind) || isAccountAlertKind(kind), String(kind))
  }
  t.same(alertFacts(undefined), {})
})
