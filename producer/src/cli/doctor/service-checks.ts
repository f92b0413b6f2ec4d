import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { formatDuration, VERSION } from '@kim/cli-kit'
import { type Installed, serviceHealthOf, servicesOn } from '../../os-service/installed-services.js'
import { lingers, systemRunner } from '../../os-service/supervisors.js'
import { type Check, type CheckResult, type Context, failing, fine, unseen, warning } from './check.js'

const REINSTALL = 'run kim-producer install-service again with the same flags'

/** Does a producer run? */
const producerCheck: Check = {
  id: 'producer',
  look: context => {
    const { start } = context
    const { state, pid, ageMs, health } = context.sign()
    if (state === 'never') return warning('no producer has run on this store yet', start)
    if (state === 'unknown')
      return warning('no producer holds the store, and run/health.json of the last one cannot be read', start)
    if (state === 'stopped') {
      const reason = typeof health['reason'] === 'string' ? `: ${health['reason']}` : ''
      return warning(`the producer was stopped${reason}`, start)
    }
    if (state === 'gone')
      return failing(
        'the producer ended without a clean stop; recorded mail is safe',
        `read its log, then ${start}`,
      )
    const seen = ageMs === undefined ? 'no heartbeat yet' : `last heartbeat ${formatDuration(ageMs)} ago`
    if (state === 'hung')
      return failing(
        `pid ${pid} holds the store and does not respond (${seen}): it hangs or is suspended`,
        `resume it: kill -CONT ${pid}; or end it: kill -9 ${pid} (recorded mail is safe), then ${start}`,
      )
    if (health['disk'] === 'full')
      return failing(
        `pid ${pid} cannot append: the disk is full`,
        'free some disk space; the producer then continues by itself',
      )
    return fine(`pid ${pid}, ${seen}`)
  },
}

/** Is the running producer this version? An upgrade changes files, not the process that runs. */
const versionCheck: Check = {
  id: 'version',
  look: context => {
    const { state, health } = context.sign()
    const running = health['version']
    if ((state !== 'running' && state !== 'hung') || typeof running !== 'string')
      return unseen('no producer runs')
    if (running === VERSION) return fine(VERSION)
    return warning(
      `the running producer is ${running}, this program is ${VERSION}`,
      `${REINSTALL}; without a service: ${context.command('kim-producer shutdown')}, then start it again`,
    )
  },
}

/**
 * Is a service installed, and does its supervisor start it? A service holds the paths of Node and of this program,
 * which an upgrade can move.
 */
const serviceCheck: Check = {
  id: 'service',
  look: context => {
    const { service: place } = context
    if (place === undefined) return unseen('no supervisor of this platform is known')
    const all = context.services()
    const inPlace = all.find(({ file }) => file === place.file)
    const named = context.instance === undefined ? undefined : inPlace
    const store = named?.storeDir ?? context.paths.root
    const onStore = servicesOn(store, all)
    if (onStore.length > 1)
      return failing(
        `${onStore.map(({ name }) => name).join(' and ')} run a producer on ${store}: all but one fail again and again`,
        `remove one of them: ${onStore.map(({ removal }) => removal).join(', or ')}`,
      )
    const one = named ?? onStore[0]
    if (one !== undefined) return checkInstalled(one)
    if (existsSync(place.file)) return ofAnotherStore(place.name, inPlace, context)
    return warning(
      `${place.name} is not installed: no supervisor starts a producer after a crash or a login`,
      context.installing(' --linger'),
    )
  },
}

/** The file of this store's service exists, but it is of something else. */
function ofAnotherStore(name: string, other: Installed | undefined, context: Context): CheckResult {
  if (other === undefined)
    return warning(`the file of ${name} was changed: it does not start kim-producer`, REINSTALL)
  return warning(
    `${name} is for ${other.storeDir}: no service runs a producer on ${context.paths.root}`,
    `install a second service: ${context.installing()}; or name the other store with --store DIR`,
  )
}

function checkInstalled({ command, ...place }: Installed): CheckResult {
  const [node] = command
  const script = command.find(word => word.endsWith('kim-producer.js'))
  const missing = [node, script].filter(path => path !== undefined && !existsSync(path))
  if (missing.length > 0)
    return failing(`${place.name} cannot start: ${missing.join(' and ')} is missing`, REINSTALL)
  const { isWell, words, remedy } = serviceHealthOf(place, userInfo().uid, systemRunner)
  const evidence = `${place.name} ${words}`
  if (isWell === undefined) return unseen(evidence, remedy)
  return isWell ? fine(`${evidence}: it starts ${script ?? node}`) : warning(evidence, remedy)
}

/** Does the service keep running when you are logged out? A user's services end at logout, unless linger is on. */
const lingerCheck: Check = {
  id: 'linger',
  look: context => {
    if (process.platform !== 'linux') return unseen('only systemd needs it')
    if (context.services().length === 0) return unseen('no service is installed')
    const { username } = userInfo()
    const isOn = lingers(systemRunner, username)
    if (isOn === undefined) return unseen('loginctl does not say whether linger is on')
    if (isOn) return fine('linger is on')
    return warning('linger is off: the producer ends when you log out', `loginctl enable-linger ${username}`)
  },
}

/** Checks of the producer and its service. */
export const serviceChecks: readonly Check[] = [producerCheck, versionCheck, serviceCheck, lingerCheck]
