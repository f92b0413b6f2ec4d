// That the trials can fail: a fault of the producer that each of them is about.
import t from 'tap'
import { canPlant, type Plant, passes, planted } from '../../kit/kijito/index.js'

/** A fault, and the trial that must fail of it. */
interface Bite extends Plant {
  readonly trial: string
  readonly about: string
}

const BITES: readonly Bite[] = [
  {
    trial: 'burst',
    about: 'a walk that stopped counts as one that came through',
    file: 'core/poll-pages.js',
    from: 'holes: walk.holes,',
    to: 'holes: [],',
  },
  {
    trial: 'clock',
    about: 'schedules go by the wall clock',
    file: 'effects/system.js',
    from: 'wallMs: () => Date.now(), monoMs,',
    to: 'wallMs: () => Date.now(), monoMs: () => Date.now(),',
  },
  {
    trial: 'disk',
    about: 'a full disk ends the process',
    file: 'run/main-loop.js',
    from: "core.committed('full', this.#now())",
    to: 'throw error',
  },
  {
    trial: 'names',
    about: 'mail is marked as read',
    file: 'source/kijito.js',
    from: "mark_read: 'false'",
    to: "mark_read: 'true'",
  },
  {
    trial: 'token',
    about: 'a refused token is not read again',
    file: 'source/kijito.js',
    from: 'status === 401',
    to: 'status === 499',
  },
]

/** What waits for what never comes need not wait long to have failed. */
const PATIENCE_MS = '20000'

t.jobs = 2
t.setTimeout(900_000)

for (const { trial, about, ...plant } of BITES) {
  t.test(
    `bite - ${about}: the trial of the ${trial} fails`,
    { buffered: true, timeout: 300_000 },
    async t => {
      t.ok(canPlant(plant), 'there is a place for it')
      const file = new URL(`./plus-${trial}.test.js`, import.meta.url)
      const env = { KIM_SOAK: '', KIM_PATIENCE_MS: PATIENCE_MS, ...planted(plant) }
      t.notOk(await passes(file, env), 'with the fault it does not pass')
    },
  )
}
