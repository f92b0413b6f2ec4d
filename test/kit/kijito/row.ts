import type { Settings } from '@kim/example-kijito-sim'
import t, { type Test } from 'tap'
import { homeOf } from '../home.js'
import { wrongWith } from './records.js'
import { Scene } from './scene.js'
import type { Standing } from './standing.js'

/** Rows run side by side: most of their time they wait. */
const AT_A_TIME = 12
/** Beyond it a row hangs; on a busy machine rows take many times what they need. */
const ROW_MS_MAX = 150_000
const SUITE_MS_MAX = 600_000

/** `KIM_ROWS=D2,G8` runs these alone. */
const only = process.env['KIM_ROWS']?.split(',')

/** What a row needs before its script begins. */
export interface Given {
  /** The journal that stands already. */
  readonly standing?: Standing
  readonly settings?: Partial<Settings>
}

/** Flags of the most used cases: one persona, an interval of a second. */
export const NF: readonly string[] = [
  '--persona',
  'argus',
  '--poll-seconds',
  '1',
  '--wait',
  '0',
  '--no-fast-path',
]
export const FP: readonly string[] = ['--persona', 'argus', '--poll-seconds', '1', '--wait', '0']
export const ALL: readonly string[] = ['--poll-seconds', '1', '--wait', '0']

/** Long poll, with an interval that no test waits for. */
export function longPoll(wait: number): readonly string[] {
  return ['--persona', 'argus', '--poll-seconds', '20', '--wait', String(wait)]
}

/**
 * One row of the table of cases: a server with its script, a store with its journal, real producers. Whatever the
 * row shows, the journal must be sound at its end, and a producer that still runs must stop with 0.
 */
export function row(
  id: string,
  title: string,
  given: Given,
  script: (t: Test, scene: Scene) => Promise<void>,
): void {
  if (only !== undefined && !only.includes(id)) return
  t.jobs = AT_A_TIME
  t.setTimeout(SUITE_MS_MAX)
  t.test(`${id} - ${title}`, { buffered: true, timeout: ROW_MS_MAX }, async t => {
    const scene = await Scene.open(homeOf(t), given.settings)
    t.teardown(() => scene.close())
    if (given.standing !== undefined) scene.stand(given.standing)
    await script(t, scene)
    const running = scene.producers.filter(({ code }) => code === undefined)
    await scene.close()
    t.same(
      running.map(({ code }) => code),
      running.map(() => 0),
      'what still ran stopped with 0',
    )
    t.same(wrongWith(scene.records()), [], 'the journal is sound')
  })
}
