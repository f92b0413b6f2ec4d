import t from 'tap'
import { canPlant, type Plant, passes, planted } from '../../kit/kijito/index.js'

/** A fault, and the row that must fail of it. */
interface Bite extends Plant {
  readonly row: string
  readonly about: string
}

const BITES: readonly Bite[] = [
  {
    row: 'N3',
    about: 'mail is marked as read',
    file: 'source/kijito.js',
    from: "mark_read: 'false'",
    to: "mark_read: 'true'",
  },
  {
    row: 'N4',
    about: 'leave for private addresses is taken for loopback too',
    file: 'source/kijito.js',
    from: 'loopback: options.allowLoopback === true',
    to: 'loopback: options.allowPrivate === true',
  },
  {
    row: 'D2',
    about: 'a redirect is reported as any other status',
    file: 'source/http.js',
    from: 'const isRedirect = status >= 300 && status < 400',
    to: 'const isRedirect = false',
  },
  {
    row: 'B7',
    about: 'the cap is one too low',
    file: 'core/poll-records.js',
    from: '> maxReplay',
    to: '>= maxReplay',
  },
  {
    row: 'E1',
    about: 'the first failure is an outage',
    file: 'core/committer.js',
    from: 'failures >= alertAfter',
    to: 'failures > 0',
  },
  {
    row: 'E3',
    about: 'an outage is announced again and again',
    file: 'core/committer.js',
    from: 'const goesDown = !isDown && ',
    to: 'const goesDown = ',
  },
  {
    row: 'F6',
    about: 'a failure forgets the token',
    file: 'core/schedule.js',
    from: 'this.#failures += 1;',
    to: 'this.#failures += 1; this.#cursor = undefined;',
  },
  {
    row: 'F16',
    about: 'a failed poll waits for the resync',
    file: 'core/schedule.js',
    from: 'isTroubled || ',
    to: '',
  },
  {
    row: 'F18',
    about: 'a new token says nothing',
    file: 'core/schedule.js',
    from: 'if (!news.isTokenNew)',
    to: 'if (true)',
  },
  {
    row: 'F19',
    about: 'there is no pause between answers that brought nothing',
    file: 'core/schedule.js',
    from: 'receivedMs + Math.min(this.#pauseMs, this.#paceMs)',
    to: 'receivedMs',
  },
  {
    row: 'G8',
    about: 'a continuation may skip rows',
    file: 'core/poll-pages.js',
    from: 'continuation.beforeId !== lowest.id',
    to: 'false',
  },
  {
    row: 'G16',
    about: 'a page may hold what was not asked for',
    file: 'core/poll-pages.js',
    from: 'id >= beforeId',
    to: 'id < 0',
  },
  {
    row: 'K2',
    about: 'a persona that comes later is met as the first were',
    file: 'core/core.js',
    from: "this.mode === 'all' &&",
    to: 'false &&',
  },
]

/** Where the rows of a chapter are. */
const SUITES: Readonly<Record<string, string>> = {
  B: 'arming',
  D: 'health',
  E: 'liveness',
  F: 'fast-path',
  G: 'windows',
  J: '../sinks/exec',
  K: 'personas',
  N: 'transport',
}

const AT_A_TIME = 4

/** A wait of a row with a fault may last as long as the whole row without it, and this much longer. */
const PATIENCE_MS = 10_000

/** Runs one row; true if it passes. */
function rowPasses(row: string, env: Readonly<Record<string, string>>): Promise<boolean> {
  return passes(new URL(`./${SUITES[row[0] ?? '']}.test.js`, import.meta.url), { KIM_ROWS: row, ...env })
}

t.jobs = AT_A_TIME
t.setTimeout(600_000)

t.test('bite - a fault that is none fails nothing', { buffered: true, timeout: 300_000 }, async t => {
  const [{ file, from } = { file: '', from: '' }] = BITES
  t.ok(await rowPasses('N3', planted({ file, from, to: from })), 'it is not the planting that fails')
})

for (const { row, about, ...plant } of BITES) {
  t.test(`bite - ${about}: ${row} fails`, { buffered: true, timeout: 300_000 }, async t => {
    t.ok(canPlant(plant), 'there is a place for it')
    const begunMs = performance.now()
    t.ok(await rowPasses(row, {}), 'as it is the row passes')
    const patienceMs = PATIENCE_MS + performance.now() - begunMs
    const env = { ...planted(plant), KIM_PATIENCE_MS: String(Math.ceil(patienceMs)) }
    t.notOk(await rowPasses(row, env), 'with the fault it does not')
  })
}
