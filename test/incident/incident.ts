import { Kijito, performCommand, settingsOf } from '@kim/example-kijito-sim'
import { Prng, SimClock } from '../kit/index.js'
import { ProducerLife } from './producer-life.js'
import { SimLoop } from './sim-loop.js'
import { SimulatedSource } from './simulated-source.js'
import { BEGIN_MS, type Happening, story } from './story.js'

/** Who wants to know how far it is, and to end it. */
interface Control {
  readonly signal: AbortSignal
  readonly onProgress?: (done: number, total: number) => void
}

/** What was written. */
export interface Incident {
  readonly seed: number
  readonly project_id: string
  /** The number of the last record. */
  readonly head_seq: number
  readonly from: string
  readonly to: string
}

/**
 * Plays an afternoon through and leaves its store behind: the producer's own code against a simulated server, on a
 * host whose clocks and random numbers follow from the seed. The same seed gives the same bytes, anywhere.
 */
export async function recreateIncident(storeDir: string, seed: number, control: Control): Promise<Incident> {
  const clock = new SimClock(BEGIN_MS)
  const loop = new SimLoop(clock)
  const kijito = new Kijito(settingsOf('hosted', { listsRecipients: false }))
  const source = new SimulatedSource(kijito, loop, new Prng(seed + 1))
  const all = story(seed)
  let life: ProducerLife | undefined
  let pid = 4100
  let facts = { project_id: '', head_seq: 0 }
  const act = async (happening: Happening): Promise<void> => {
    switch (happening.do) {
      case 'server':
        performCommand(kijito, happening.command, source.now)
        source.changed()
        break
      case 'start':
        pid += 17
        life = new ProducerLife(storeDir, pid, seed, loop, source)
        break
      case 'stop':
        if (life === undefined) break
        await life.stop(happening.reason)
        facts = { project_id: life.journal.projectId, head_seq: life.journal.head.seq }
        life = undefined
        break
      case 'sleep':
        loop.sleep()
        break
      case 'wake':
        loop.wake()
    }
  }
  for (const [done, happening] of all.entries()) {
    await loop.until(happening.atMs, control.signal)
    await act(happening)
    control.onProgress?.(done + 1, all.length)
  }
  const [from, to] = [BEGIN_MS, clock.wallMs()].map(ms => new Date(ms).toISOString())
  return { seed, ...facts, from: from ?? '', to: to ?? '' }
}
