import type { Clock } from '../effects/clock.js'
import type { FileSystem } from '../effects/file-system.js'
import type { Host } from '../effects/host.js'
import type { Random } from '../effects/random.js'
import type { StoreLock } from '../effects/store-lock.js'
import type { Turn } from '../effects/turn.js'
import type { Log } from './log.js'
import type { Switches } from './switches.js'

/** How a journal is opened. Everything that is an effect can be replaced. */
export interface JournalOptions {
  readonly storeDir: string
  /** The base URL that the store belongs to. Without it a journal that is there is opened, and none is made. */
  readonly source?: string | undefined
  readonly fs?: FileSystem | undefined
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
  readonly lock?: StoreLock | undefined
  readonly host?: Host | undefined
  readonly turn?: Turn | undefined
  readonly log?: Log | undefined
  /** Size at which a segment is sealed. */
  readonly segmentBytes?: number | undefined
  /** False keeps everything where it is. */
  readonly gc?: boolean | undefined
  /** Pack what gc parks. */
  readonly gzip?: boolean | undefined
  /** Read messages a persona keeps. */
  readonly retainRead?: number | undefined
  readonly switches?: Switches | undefined
}
