import { KimError } from '@kim/manifest'
import type { Persona } from './persona.js'

/** True for a seed that the record keeps and everything known lies above: it has no effect any more (KS-35). */
export function isSeedSpent(persona: Persona | undefined, seedAt: number): boolean {
  return persona?.image?.seeded === seedAt && seedAt <= persona.watermark
}

/** Refuses a seed that would take back what stands already (KS-35). The seed that the record has changes nothing. */
export function assertSeed(persona: Persona | undefined, seedAt: number): void {
  if (persona?.image === undefined || persona.image.seeded === seedAt) return
  const { name, image, watermark, isCountOwed } = persona
  if (isCountOwed) {
    throw new KimError(
      'config_invalid',
      `${name} is still catching up: what it took over silently is not counted yet`,
      {
        hint: 'leave --seed-at out until replay_capped or baseline_skipped is in the journal',
      },
    )
  }
  const told = Math.max(watermark, image?.seeded ?? 0)
  if (seedAt > told) return
  throw new KimError(
    'config_invalid',
    `--seed-at ${seedAt} is not above ${told}, where ${name} stands already`,
    {
      hint: `leave it out; kim-tail --persona ${name} --after-id ${seedAt} prints what came after it`,
    },
  )
}
