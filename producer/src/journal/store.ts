import type { StorePaths } from '@kim/manifest'
import type { Clock } from '../effects/clock.js'
import type { Host } from '../effects/host.js'
import type { Random } from '../effects/random.js'
import type { Disk } from './file-ops.js'
import type { Log } from './log.js'
import type { Switches } from './switches.js'

/** What every part of the journal works with: the effects, and where things stand. */
export interface Store {
  readonly disk: Disk
  readonly paths: StorePaths
  readonly clock: Clock
  readonly random: Random
  readonly host: Host
  readonly log: Log
  readonly switches: Switches
}
