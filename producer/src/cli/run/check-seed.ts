import { KimError } from '@kim/manifest'
import { Personas } from '../../core/personas.js'
import type { StateView } from '../../journal/journal.js'
import type { RunLog } from '../../run/run-log.js'

/** KS-35: a seed is for an inbox that the journal does not know; what stands in the journal is not taken back. */
export function checkSeed(persona: string, seedAt: number, state: StateView, log: RunLog): void {
  const known = new Personas(state).find(persona)
  if (known?.image === undefined) return
  if (seedAt <= known.watermark) {
    throw new KimError(
      'config_invalid',
      `--seed-at ${seedAt}: the journal has ${persona} up to ${known.watermark}`,
      {
        hint: `leave it out; to read from there on: kim-tail -p ${persona} --after-id ${seedAt}`,
      },
    )
  }
  log({
    level: 'warn',
    code: 'flag_ignored',
    persona,
    message: `--seed-at ${seedAt} has no effect: the journal knows this inbox and goes on after ${known.watermark}`,
  })
}
