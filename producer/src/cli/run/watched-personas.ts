import type { CoreStatus } from '../../core/core.js'
import type { StoredState } from '../../journal/journal.js'
import type { Watched } from '../../sinks/sinks.js'

/** Who is watched, and at what: the larger of watermark and seed, as wherever people read a cursor (KS-35). */
export function watchedOf(
  { personas }: Pick<CoreStatus, 'personas'>,
  state: StoredState,
): readonly Watched[] {
  return personas.map(({ persona, armed, watermark }) => {
    const silentTo = state.get('persona', persona)?.payload?.['silent_to']
    const cursor = Math.max(watermark, typeof silentTo === 'number' ? silentTo : 0)
    return { persona, cursor: armed || cursor > 0 ? cursor : undefined }
  })
}
