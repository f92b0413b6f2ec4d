import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import {
  type Installed,
  installedServices,
  serviceHealthOf,
  servicesOn,
} from '../../../os-service/installed.js'
import type { ServicePlace } from '../../../os-service/supervisors.js'
import { type Check, type CheckResult, fine, unseen } from '../check.js'
import type { Context } from '../context.js'

/** A service names Node and this program by their paths, and upgrades move both; and its supervisor has to know of it. */
export const serviceCheck: Check = {
  id: 'service',
  about: 'a service is installed, and its supervisor starts it',
  look: context => {
    const { service: place } = context
    if (place === undefined) return unseen('no supervisor of this platform is known')
    const all = installedServices(place, context.env, context.home)
    const named = context.isServiceNamed ? all.find(({ file }) => file === place.file) : undefined
    const store = named?.storeDir ?? context.paths.root
    const own = servicesOn(store, all)
    if (own.length > 1) return severalOn(store, own)
    const one = named ?? own[0]
    if (one !== undefined) return judged(one, context)
    if (!existsSync(place.file)) {
      return {
        status: 'warn',
        evidence: `${place.name} is not installed: no supervisor starts a producer after a crash or a login`,
        remedy: context.starting('kim-producer install-service --linger'),
      }
    }
    return ofAnother(place, all, context)
  },
}

function severalOn(store: string, own: readonly Installed[]): CheckResult {
  const names = own.map(({ name }) => name)
  return {
    status: 'fail',
    evidence: `${names.join(' and ')} run a producer on ${store}: all but one fail again and again`,
    remedy: `remove one of them: ${own.map(({ removal }) => removal).join(', or ')}`,
  }
}

/** Something stands where this store's service would, and it is none. */
function ofAnother({ name, file }: ServicePlace, all: readonly Installed[], context: Context): CheckResult {
  const other = all.find(one => one.file === file)
  if (other === undefined) {
    return {
      status: 'warn',
      evidence: `the file of ${name} was changed: it does not start kim-producer`,
      remedy: REINSTALL,
    }
  }
  return {
    status: 'warn',
    evidence: `${name} is for ${other.storeDir}: no service runs a producer on ${context.paths.root}`,
    remedy: `install a second service: ${context.starting('kim-producer install-service --name NAME')}; or name the other store with --store DIR`,
  }
}

function judged({ command, ...place }: Installed, { run }: Context): CheckResult {
  const [node] = command
  const script = command.find(word => word.endsWith('kim-producer.js'))
  const missing = [node, script].filter(path => path !== undefined && !existsSync(path))
  if (missing.length > 0) {
    return {
      status: 'fail',
      evidence: `${place.name} cannot start: ${missing.join(' and ')} is missing`,
      remedy: REINSTALL,
    }
  }
  const { isWell, words, remedy } = serviceHealthOf(place, userInfo().uid, run)
  const evidence = `${place.name} ${words}`
  if (isWell === undefined) return unseen(evidence, remedy)
  return isWell ? fine(`${evidence}: it starts ${script ?? node}`) : { status: 'warn', evidence, remedy }
}

const REINSTALL = 'run kim-producer install-service again with the same flags'
