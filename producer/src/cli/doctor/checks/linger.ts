import { userInfo } from 'node:os'
import { installedServices } from '../../../os-service/installed.js'
import { type Check, fine, unseen } from '../check.js'

/** A user's services end when the user logs out, unless somebody said otherwise. */
export const lingerCheck: Check = {
  id: 'linger',
  about: 'the service keeps running when you are logged out',
  look: ({ service, run, env, home }) => {
    if (process.platform !== 'linux') return unseen('only systemd needs it')
    if (service === undefined || installedServices(service, env, home).length === 0)
      return unseen('no service is installed')
    const { username } = userInfo()
    const { status, output } = run(['loginctl', 'show-user', username, '--property=Linger'])
    if (status !== 0) return unseen(`loginctl failed: ${output}`)
    if (output.includes('Linger=yes')) return fine('linger is on')
    return {
      status: 'warn',
      evidence: 'linger is off: the producer ends when you log out',
      remedy: `loginctl enable-linger ${username}`,
    }
  },
}
