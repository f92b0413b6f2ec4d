import { KimError } from '@kim/manifest'
import type { Persona } from '../journal/persona.js'

/** True for a seed that the record keeps and everything known lies above: it has no effect any more (KS-35). */
export function isSeedSpent(persona: Persona | undefined, seedAt: number): boolean {
  return persona?.record?.seeded === seedAt && seedAt <= persona.watermark
}

/** Refuses a seed that would take back what stands already (KS-35). The seed that the record has changes nothing. */
export function assertSeed(persona: Persona | undefined, seedAt: number): void {
  if (persona?.record === undefined || persona.record.seeded === seedAt) return
  const { name, record, watermark, isCountOwed } = persona
  if (isCountOwed) {
    throw new KimError(
      'config_invalid',
      `cannot apply --seed-at: ${name} is still catching up, and its silent messages are not counted yet`,
      {
        hint: 'leave out --seed-at until the journal has a replay_capped or baseline_skipped record',
      },
    )
  }
  const told = Math.max(watermark, record?.seeded ?? 0)
  if (seedAt > told) return
  throw new KimError(
    'config_invalid',
    `--seed-at ${seedAt} is not above ${told}, the watermark or the earlier seed of ${name}`,
    {
      hint: `leave out --seed-at; to print the mail after that id: kim-tail --persona ${name} --after-id ${seedAt}`,
    },
  )
}
