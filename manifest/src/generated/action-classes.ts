// Generated from action-classes.json by `npm run gen`; edit the JSON.

/** What an action does to the state. */
export type ActionClass =
  | 'entity-state'
  | 'tombstone'
  | 'journal-meta'
  | 'observability'
  | 'registry-lifecycle'

/** The verbs that have a class of their own. */
export type Verb =
  | 'create'
  | 'update'
  | 'accept'
  | 'reject'
  | 'claim'
  | 'release_claim'
  | 'rollback'
  | 'upgrade'
  | 'backfill'
  | 'delete'
  | 'checkpoint_ref'
  | 'journal_note'
  | 'seq_repair'
  | 'federation_apply'
  | 'session_start'
  | 'session_end'
  | 'assignment_offered'
  | 'assignment_progress'
  | 'run_progress'
  | 'assignment_created'
  | 'assignment_accepted'
  | 'assignment_started'
  | 'assignment_completed'
  | 'assignment_cancelled'
  | 'assignment_failed'
  | 'assignment_blocked'
  | 'assignment_timed_out'
  | 'assignment_expired'
  | 'assignment_retrying'
  | 'assignment_rerouted'
  | 'assignment_amended'
  | 'run_created'
  | 'run_launching'
  | 'run_waiting_input'
  | 'run_running'
  | 'run_blocked'
  | 'run_completed'
  | 'run_failed'
  | 'run_cancelled'
  | 'run_timed_out'
  | 'run_interrupted'
  | 'run_amended'

/** The parts of the board. */
export type Section =
  | 'attention'
  | 'in-progress'
  | 'sprints'
  | 'backlog'
  | 'system'
  | 'agents'
  | 'candidates'
  | 'activity'
  | 'plans'
  | 'claims'
  | 'assignments'
  | 'runs'
  | 'actions'
  | 'handoffs'
  | 'sprint'
  | 'traps'
  | 'cross-project'
  | 'inbox'
  | 'roster'
  | 'gates'

/** Whether an event wakes an agent. */
export type WakeClass = 'mail' | 'liveness' | 'diagnostic'

/** The conditions that raise an alert. */
export type AlertKind =
  | 'unreachable'
  | 'bounded-window'
  | 'unread-not-shown'
  | 'stranded-mail'
  | 'urgent-unanswered'
  | 'id-regressed'

/** The alerts about the account as a whole; each lists the inboxes that it is about. */
export type AccountAlertKind = 'stranded-mail' | 'urgent-unanswered'

/** The manifest as data. */
export const actionClasses = {
  manifest_version: 1,
  envelope_version: 2,
  segment_pad: 8,
  classes: {
    'entity-state': {
      with_payload: 'upsert',
      without_payload: 'activity',
    },
    tombstone: {
      with_payload: 'remove',
      without_payload: 'remove',
    },
    'journal-meta': {
      with_payload: 'meta',
      without_payload: 'meta',
    },
    observability: {
      with_payload: 'activity',
      without_payload: 'activity',
    },
    'registry-lifecycle': {
      with_payload: 'upsert',
      without_payload: 'activity',
    },
  },
  verbs: {
    create: 'entity-state',
    update: 'entity-state',
    accept: 'entity-state',
    reject: 'entity-state',
    claim: 'entity-state',
    release_claim: 'entity-state',
    rollback: 'entity-state',
    upgrade: 'entity-state',
    backfill: 'entity-state',
    delete: 'tombstone',
    checkpoint_ref: 'journal-meta',
    journal_note: 'journal-meta',
    seq_repair: 'journal-meta',
    federation_apply: 'journal-meta',
    session_start: 'observability',
    session_end: 'observability',
    assignment_offered: 'observability',
    assignment_progress: 'observability',
    run_progress: 'observability',
    assignment_created: 'registry-lifecycle',
    assignment_accepted: 'registry-lifecycle',
    assignment_started: 'registry-lifecycle',
    assignment_completed: 'registry-lifecycle',
    assignment_cancelled: 'registry-lifecycle',
    assignment_failed: 'registry-lifecycle',
    assignment_blocked: 'registry-lifecycle',
    assignment_timed_out: 'registry-lifecycle',
    assignment_expired: 'registry-lifecycle',
    assignment_retrying: 'registry-lifecycle',
    assignment_rerouted: 'registry-lifecycle',
    assignment_amended: 'registry-lifecycle',
    run_created: 'registry-lifecycle',
    run_launching: 'registry-lifecycle',
    run_waiting_input: 'registry-lifecycle',
    run_running: 'registry-lifecycle',
    run_blocked: 'registry-lifecycle',
    run_completed: 'registry-lifecycle',
    run_failed: 'registry-lifecycle',
    run_cancelled: 'registry-lifecycle',
    run_timed_out: 'registry-lifecycle',
    run_interrupted: 'registry-lifecycle',
    run_amended: 'registry-lifecycle',
  },
  wildcards: [
    {
      prefix: 'assignment_',
      class: 'registry-lifecycle',
    },
    {
      prefix: 'run_',
      class: 'registry-lifecycle',
    },
  ],
  unknown_verb: {
    with_payload: 'upsert',
    without_payload: 'activity',
  },
  sections: {
    attention: 'what waits for a human decision',
    'in-progress': 'work under way; the node "recently terminal" belongs to it',
    sprints: 'all sprints',
    backlog: 'plans that are not started',
    system: 'decisions, constraints, traps and the health of the parts',
    agents: 'who is working',
    candidates: 'proposed memories',
    activity: 'what happened, newest first',
    plans: 'all plans',
    claims: 'all claims',
    assignments: 'all assignments',
    runs: 'all agent runs',
    actions: 'all pending actions',
    handoffs: 'all handoffs',
    sprint: 'the current sprint',
    traps: 'known traps',
    'cross-project': 'signals from linked projects',
    inbox: 'messages by persona',
    roster: 'personas and their bindings',
    gates: 'gates and decision points',
  },
  activity_section: 'activity',
  item_types: {
    plan: {
      sections: ['in-progress', 'sprints', 'backlog', 'attention', 'system'],
      counted: {
        when: [
          {
            field: 'status',
            one_of: ['todo', 'in_progress'],
          },
        ],
      },
    },
    claim: {
      sections: ['in-progress', 'agents'],
      counted: {
        when: [
          {
            field: 'status',
            one_of: ['active'],
          },
        ],
      },
    },
    assignment: {
      sections: ['in-progress', 'attention'],
      counted: {
        when: [],
        unless: [
          [
            {
              field: 'status',
              one_of: ['completed', 'failed', 'cancelled', 'timed_out', 'expired'],
            },
          ],
        ],
      },
    },
    agent_run: {
      sections: ['in-progress', 'agents'],
      counted: {
        when: [],
        unless: [
          [
            {
              field: 'status',
              one_of: ['completed', 'failed', 'cancelled', 'timed_out', 'interrupted'],
            },
          ],
        ],
      },
    },
    candidate: {
      sections: ['attention', 'candidates'],
      counted: {
        when: [
          {
            field: 'status',
            one_of: ['pending'],
          },
        ],
      },
    },
    action: {
      sections: ['attention'],
      counted: {
        when: [
          {
            field: 'status',
            one_of: ['pending', null],
          },
        ],
      },
    },
    constraint: {
      sections: ['system', 'traps'],
    },
    decision: {
      sections: ['system', 'traps'],
    },
    trap: {
      sections: ['system', 'traps'],
    },
    handoff: {
      sections: ['activity', 'system'],
    },
    runtime_note: {
      sections: ['activity'],
    },
    sequence: {
      sections: ['sprints'],
    },
    session: {
      sections: ['activity'],
    },
    message: {
      sections: ['inbox', 'attention'],
      forgets_revision: true,
    },
    inbox_item: {
      sections: ['inbox', 'attention'],
    },
    persona: {
      sections: ['roster'],
    },
    binding: {
      sections: ['roster'],
    },
    alert: {
      sections: ['attention', 'system'],
      counted: {
        when: [
          {
            field: 'status',
            one_of: ['open'],
          },
        ],
      },
    },
    receipt: {
      sections: ['inbox'],
    },
    gate: {
      sections: ['gates', 'attention'],
    },
    decision_point: {
      sections: ['gates', 'attention'],
    },
    agent_session: {
      sections: ['roster', 'activity'],
    },
  },
  item_type_aliases: {
    state: 'action',
  },
  attention: {
    rules: [
      {
        item_type: 'action',
        when: [
          {
            field: 'status',
            one_of: ['pending', null],
          },
        ],
      },
      {
        item_type: 'candidate',
        when: [
          {
            field: 'status',
            one_of: ['pending'],
          },
        ],
        unless: [
          [
            {
              field: 'source',
              one_of: ['auto', 'automatic'],
            },
          ],
          [
            {
              field: 'source',
              is_string: false,
            },
            {
              field: 'origin',
              begins: 'session-end:',
            },
          ],
        ],
      },
      {
        item_type: 'assignment',
        when: [
          {
            field: 'status',
            one_of: ['blocked', 'failed'],
          },
        ],
      },
      {
        item_type: 'assignment',
        when: [
          {
            field: 'status',
            one_of: ['completed', 'failed', 'cancelled', 'timed_out', 'expired'],
          },
          {
            field: 'evidence_contradicted',
            one_of: [true],
          },
        ],
      },
      {
        item_type: 'agent_run',
        when: [
          {
            field: 'status',
            one_of: ['blocked', 'waiting_input', 'failed'],
          },
        ],
      },
      {
        item_type: 'agent_run',
        when: [
          {
            field: 'status',
            one_of: ['completed', 'failed', 'cancelled', 'timed_out', 'interrupted'],
          },
          {
            field: 'evidence_contradicted',
            one_of: [true],
          },
        ],
      },
      {
        item_type: 'alert',
        when: [
          {
            field: 'status',
            one_of: ['open'],
          },
        ],
      },
    ],
    sums: [
      {
        item_type: 'persona',
        field: 'unread_urgent',
      },
    ],
  },
  registry: {
    genesis_note: 'registry_genesis',
    families: ['claim', 'assignment', 'agent_run', 'action'],
  },
  wake_classes: {
    'new': 'mail',
    armed: 'liveness',
    heartbeat: 'liveness',
    alert: 'diagnostic',
    recovered: 'diagnostic',
    seed_ahead: 'diagnostic',
    replay_capped: 'diagnostic',
    state_corrupt: 'diagnostic',
    baseline_skipped: 'diagnostic',
    persona_added: 'diagnostic',
  },
  unclassified_wake: 'diagnostic',
  delivery_tries: {
    mail: null,
    diagnostic: 5,
    liveness: 1,
  },
  delivered_as: {
    recovered: 'liveness',
  },
  never_news: ['backfill'],
  alert_kinds: {
    unreachable: {
      meaning: 'polls of an inbox fail',
      is_outage: true,
    },
    'bounded-window': {
      meaning: 'messages were left out, so the inbox has a gap',
      is_gap: true,
    },
    'unread-not-shown': {
      meaning: 'the server counts unread messages that it does not show',
    },
    'stranded-mail': {
      meaning: 'inboxes hold unread mail that no one seems to read',
      names_in: 'stranded_inboxes',
    },
    'urgent-unanswered': {
      meaning: 'inboxes hold urgent mail, and their owners wrote nothing since',
      names_in: 'urgent_unanswered',
      is_urgent: true,
    },
    'id-regressed': {
      meaning: "the server's highest message id went down",
    },
  },
  note_kinds: [
    'genesis',
    'registry_genesis',
    'segment_sealed',
    'torn_tail_adjudicated',
    'tx_abandoned',
    'redaction',
    'store_marker',
    'producer_started',
    'producer_stopped',
  ],
} as const
