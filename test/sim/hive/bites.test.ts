import type { Draft } from '@kim/producer/internal'
import t from 'tap'
import { Scratch } from '../../kit/index.js'
import { runSeed } from '../seeds.js'
import { Tally } from '../tally.js'
import type { Sabotage } from './producer.js'
import { HiveSimulation } from './simulation.js'

const isMessage = ({ item_type, action }: Draft): boolean => item_type === 'message' && action !== 'update'
const isPin = ({ item_id, payload }: Draft): boolean =>
  item_id.endsWith('/bounded-window') && payload?.['status'] === 'open'
const isOpening = (draft: Draft): boolean => isPin(draft) && draft.event === 'alert'

/** What a test picks goes to the end of its commit, or to the beginning. */
const last = (drafts: readonly Draft[], picks: (draft: Draft) => boolean): Draft[] => [
  ...drafts.filter(draft => !picks(draft)),
  ...drafts.filter(picks),
]
const first = (drafts: readonly Draft[], picks: (draft: Draft) => boolean): Draft[] => [
  ...drafts.filter(picks),
  ...drafts.filter(draft => !picks(draft)),
]

/** What may go wrong between the decisions and the journal, and how many seeds are enough to miss each; README.md. */
const sabotages: Readonly<Record<string, { readonly seeds: number; readonly sabotage: Sabotage }>> = {
  'a pin is not opened': {
    seeds: 50,
    sabotage: { drafts: drafts => drafts.filter(draft => !isOpening(draft)) },
  },
  'a pin is opened after the messages above it': {
    seeds: 400,
    sabotage: { drafts: drafts => last(drafts, isOpening) },
  },
  'a pin says it shrank before what was found stands': {
    seeds: 400,
    sabotage: { drafts: drafts => first(drafts, draft => isPin(draft) && !isOpening(draft)) },
  },
  'messages come in the other order': {
    seeds: 50,
    sabotage: {
      drafts: drafts => {
        const reversed = drafts.filter(isMessage).reverse()
        return drafts.map(draft => (isMessage(draft) ? (reversed.shift() ?? draft) : draft))
      },
    },
  },
  'a message is left out': {
    seeds: 50,
    sabotage: { drafts: drafts => drafts.filter(({ item_id }) => !item_id.endsWith('7')) },
  },
  'a message is appended twice': {
    seeds: 50,
    sabotage: { drafts: drafts => [...drafts, ...drafts.filter(isMessage).slice(0, 1)] },
  },
  'what silences comes after what it silences': {
    seeds: 100,
    sabotage: {
      drafts: drafts =>
        last(drafts, ({ item_type, event, payload }) => {
          return item_type === 'persona' && event === undefined && payload?.['silent_to'] !== undefined
        }),
    },
  },
  'first contact is said to be over before it is': {
    seeds: 100,
    sabotage: {
      drafts: drafts =>
        first(drafts, ({ item_type, action }) => item_type === 'persona' && action === 'create'),
    },
  },
  'what a first contact passed over is counted wrong': {
    seeds: 100,
    sabotage: {
      drafts: drafts =>
        drafts.map(draft =>
          draft.event === 'baseline_skipped'
            ? { ...draft, payload: { ...draft.payload, skipped: Number(draft.payload?.['skipped']) + 1 } }
            : draft,
        ),
    },
  },
  'what a cap silenced is counted wrong': {
    seeds: 100,
    sabotage: {
      drafts: drafts =>
        drafts.map(draft =>
          draft.event === 'replay_capped'
            ? { ...draft, payload: { ...draft.payload, dropped: Number(draft.payload?.['dropped']) + 1 } }
            : draft,
        ),
    },
  },
  'the personas miss the part of a refused commit that is in the journal': {
    seeds: 1000,
    sabotage: { misses: outcome => outcome === 'moved' },
  },
  'the personas miss what a commit made durable': {
    seeds: 50,
    sabotage: { misses: outcome => outcome === 'durable' },
  },
  'the core takes a refused commit for durable': {
    seeds: 100,
    sabotage: { outcome: outcome => (outcome === 'full' ? 'durable' : outcome) },
  },
}

for (const [name, { seeds, sabotage }] of Object.entries(sabotages)) {
  t.test(`hive - it notices that ${name}`, async t => {
    const scratch = new Scratch('kim-hive-')
    t.teardown(() => scratch.remove())
    let caught: string | undefined
    let seed = 0
    while (caught === undefined && seed < seeds) {
      seed++
      caught = await runSeed(seed, new HiveSimulation(seed, sabotage), scratch, new Tally())
    }
    t.ok(caught, `caught within ${seeds} seeds`)
    t.comment(`seed ${seed}: ${caught?.split('\n')[0]?.slice(0, 200)}`)
  })
}
