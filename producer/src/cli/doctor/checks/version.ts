import { version as own } from '../../version.js'
import { type Check, fine, unseen } from '../check.js'

/** An upgrade changes files, not the process that runs. */
export const versionCheck: Check = {
  id: 'version',
  about: 'the running producer is this version',
  look: context => {
    const { state, health } = context.sign()
    const running = health['version']
    if ((state !== 'running' && state !== 'hung') || typeof running !== 'string')
      return unseen('no producer runs')
    if (running === own) return fine(own)
    return {
      status: 'warn',
      evidence: `the running producer is ${running}, this program is ${own}`,
      remedy:
        'restart it: systemctl --user restart kim-producer; or run kim-producer install-service again with the same flags',
    }
  },
}
