import type { ScriptCommand } from '@kim/example-kijito-sim'
import { Prng } from '../kit/index.js'

/** One thing that happens, at a time of the wall clock. */
export type Happening = { readonly atMs: number } & (
  | { readonly do: 'server'; readonly command: ScriptCommand }
  | { readonly do: 'start' }
  | { readonly do: 'stop'; readonly reason: string }
  /** The host of the producer is suspended, or wakes. */
  | { readonly do: 'sleep' }
  | { readonly do: 'wake' }
)

type Persona = 'argus' | 'loom' | 'river'

/** A moment of that afternoon, UTC. */
const at = (hour: number, minute: number, second = 0): number => Date.UTC(2026, 5, 10, hour, minute, second)

/** When it all begins: the producer comes a little later. */
export const BEGIN_MS: number = at(10, 58)

const PERSONAS: readonly Persona[] = ['argus', 'loom', 'river']

/** What each of them writes about on an ordinary day. */
const TEXTS: Readonly<Record<Persona, readonly string[]>> = {
  argus: [
    'read the branch: two comments, both small',
    'the parser test is slow again, 40 s on main',
    'approved',
    'the error text does not say what to do next; can that go in too?',
    'I cannot see why the second lock is needed, please explain',
    'looks good, one question about the default in the flag table',
  ],
  loom: [
    'notes for 0.9 are drafted, please read them',
    'tagged the candidate, the checks run now',
    'candidate passes on linux and on mac',
    'release is planned for 17:00 unless somebody says no',
    'the changelog lacks an entry for the new flag',
    'packages are built, sizes as before',
  ],
  river: [
    'pushed the fix, tests are green',
    'rebased on main, no conflicts',
    'the flaky one was a race in the test, not in the code',
    'splitting the change in two, the second half comes after lunch',
    'done. What is next?',
    'measured: start is 12 ms faster than yesterday',
  ],
}

/**
 * The afternoon of a release that went out although it should not have: one persona is stuck, the server is down for
 * a while, and the host that the producer shares with river is suspended. When exactly, and what is said besides,
 * follows from the seed.
 */
export function story(seed: number): Happening[] {
  const random = new Prng(seed)
  const around = (ms: number): number => ms + random.int(180) * 1000
  const stuckMs = around(at(13, 36))
  const freedMs = around(at(18, 4))
  const downMs = around(at(14, 20))
  const upMs = around(at(14, 42))
  const sleepMs = around(at(15, 3))
  const wakeMs = around(at(17, 49))
  /** Who can neither read nor write at a time. */
  const isAway = (name: Persona, ms: number): boolean =>
    (name === 'loom' && ms >= stuckMs && ms < freedMs) || (name === 'river' && ms >= sleepMs && ms < wakeMs)
  const all: Happening[] = [
    ...PERSONAS.map(persona => server(BEGIN_MS, { do: 'persona', persona })),
    { atMs: at(11, 0), do: 'start' },
    { atMs: around(at(12, 8)), do: 'stop', reason: 'SIGTERM' },
    { atMs: around(at(12, 13)), do: 'start' },
    server(downMs, { do: 'rule', name: 'outage', on: {}, effect: { status: 502 } }),
    server(upMs, { do: 'drop_rules', name: 'outage' }),
    { atMs: sleepMs, do: 'sleep' },
    { atMs: wakeMs, do: 'wake' },
    letter(at(14, 5, 12), 'argus', 'loom', 'hold the release: the parser test fails on main', true),
    letter(at(15, 12, 40), 'argus', 'river', 'loom does not answer. Can you stop the release before 17:00?'),
    letter(at(17, 0, 3), 'loom', 'argus', 'scheduled job: 0.9 is released'),
    letter(at(17, 0, 3), 'loom', 'river', 'scheduled job: 0.9 is released'),
    letter(wakeMs + 410_000, 'river', 'argus', 'I see this only now, and 0.9 is out'),
    letter(
      freedMs + 95_000,
      'loom',
      'argus',
      'I was restarted and read your mail only now; 0.9 is withdrawn',
    ),
    { atMs: at(18, 30), do: 'stop', reason: 'SIGTERM' },
  ]
  for (let ms = BEGIN_MS - 3_600_000; ms < at(18, 29); ms += random.between(100, 260) * 1000) {
    const from = random.pick(PERSONAS.filter(name => !isAway(name, ms)))
    const to = random.pick(PERSONAS.filter(name => name !== from))
    // What was written before it all begins is there when it does.
    all.push(letter(Math.max(ms, BEGIN_MS), from, to, random.pick(TEXTS[from])))
  }
  for (const persona of PERSONAS) {
    for (let ms = BEGIN_MS + 60_000; ms < at(18, 29); ms += random.between(120, 480) * 1000)
      if (!isAway(persona, ms)) all.push(server(ms, { do: 'read', persona }))
  }
  return all.sort((a, b) => a.atMs - b.atMs)
}

function server(atMs: number, command: ScriptCommand): Happening {
  return { atMs, do: 'server', command }
}

function letter(atMs: number, from: Persona, to: Persona, content: string, urgent = false): Happening {
  return server(atMs, { do: 'send', from, to, content, urgent })
}
