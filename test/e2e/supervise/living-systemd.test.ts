// The unit under a systemd that lives: what it is given, what it may write, and how it comes back.
import { chownSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { isSoak, Prng } from '../../kit/index.js'
import { readRecords, row, type Scene } from '../../kit/kijito/index.js'
import { isReadableBy, UserSystemd } from '../../kit/user-systemd.js'
import { linesIn } from '../sinks/lines.js'
import { sentOnce } from './sent-once.js'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const UNIT = 'kim-producer.service'
const KILLS = isSoak() ? 20 : 4
const MAIL_MS = 20
/** A user that every Linux has and that owns nothing. */
const NOBODY = 65_534

interface Case {
  readonly uid: number
  /** Where the commands are, and where the user is at home, as the user sees them. */
  readonly program: string
  readonly home: (scene: Scene) => string
}

/** What only root can be kept from here: a user's own walls need name spaces that most machines do not give. */
const OUTSIDE_TMP = { program: '/srv', home: () => '/media' }

if (UserSystemd.cannot !== false)
  t.test('systemd - a unit lives under it', { skip: UserSystemd.cannot }, async () => {})
else {
  living('root', { uid: 0, ...OUTSIDE_TMP }, ['ProtectSystem', 'ProtectHome', 'PrivateTmp'])
  living('root in tmp', { uid: 0, program: root, home: ({ home }) => home }, ['ProtectSystem'])
  if (isReadableBy(NOBODY, root)) living('nobody', { uid: NOBODY, ...OUTSIDE_TMP }, [])
}

function living(name: string, { uid, program, home }: Case, walls: readonly string[]): void {
  row(
    `CL-18 CL-56 ${name}`,
    'installed, killed while mail flows, back each time, nothing lost or told twice, taken away',
    { settings: { dialect: 'local' } },
    async (t, scene) => {
      const at = home(scene)
      chownSync(scene.home, uid, uid)
      const isElsewhere = at !== scene.home
      const systemd = new UserSystemd({
        uid,
        home: at,
        ...(isElsewhere ? { srv: root, media: scene.home } : {}),
      })
      t.teardown(() => systemd.close())
      await systemd.ready()
      const seen = (path: string): string => join(at, relative(scene.home, path))
      const bin = join(program, 'producer/bin/kim-producer.js')
      const kim = (...args: string[]): ReturnType<UserSystemd['run']> =>
        systemd.run(process.execPath, bin, ...args)

      const file = join(scene.home, 'out', 'ev.ndjson')
      const where = ['--store', seen(scene.store), '--url', scene.url, '--allow-loopback']
      const what = [
        '--dialect',
        'local',
        '--persona',
        'argus',
        '--poll-seconds',
        '1',
        '--max-replay',
        '100000',
      ]
      const sink = ['--events-file', seen(file), '--max-bytes', '0']
      const installed = kim('install-service', '--json', ...where, ...what, ...sink)
      t.equal(installed.code, 0, installed.err)
      const { sandbox } = JSON.parse(installed.out) as { sandbox: boolean | null }
      t.comment(`${name}: walled in: ${sandbox}`)
      if (uid === 0) checkWalls(t, systemd, walls, sandbox)
      await scene.tells('armed(0)')

      await killed(t, scene, systemd)
      const told = (): unknown[] => linesIn(file).flatMap(({ event, id }) => (event === 'new' ? [id] : []))
      const created = readRecords(scene.store).filter(
        ({ item_type, action }) => item_type === 'message' && action === 'create',
      )
      const ids = created.map(({ payload }) => payload?.['id'])
      await scene.until('the events file has the last one', () => told().at(-1) === ids.at(-1))
      t.same(told(), ids, 'each message stands in the events file once, in order')

      const doctor = kim('doctor', '--json', '--only', 'service', '--store', seen(scene.store))
      t.match(JSON.parse(doctor.out), { checks: [{ id: 'service', status: 'ok' }] })
      t.equal(kim('shutdown', '--store', seen(scene.store)).code, 0)
      await scene.until('it has ended', () => systemd.show(UNIT, 'ActiveState')['ActiveState'] === 'inactive')
      t.match(systemd.show(UNIT, 'Result', 'NRestarts'), { Result: 'success', NRestarts: String(KILLS) })
      t.equal(kim('journal', 'verify', '--store', seen(scene.store)).code, 0)
      const gone = kim('uninstall-service')
      t.equal(gone.code, 0, gone.err)
      t.match(systemd.show(UNIT, 'LoadState'), { LoadState: 'not-found' })
    },
  )
}

/** The walls of the unit are those that are asked for, and hold. */
function checkWalls(t: Test, systemd: UserSystemd, walls: readonly string[], sandbox: boolean | null): void {
  const names = ['ProtectSystem', 'ProtectHome', 'PrivateTmp'] as const
  const values = systemd.show(UNIT, ...names, 'MainPID')
  if (sandbox !== true) return
  const NONE = ['no', 'yes'] as const
  for (const wall of walls) t.not(values[wall], NONE[0], wall)
  if (!walls.includes('PrivateTmp')) t.equal(values['PrivateTmp'], NONE[0], 'what lies in /tmp is seen')
  const into = (path: string): number | null =>
    systemd.run('nsenter', `--mount=/proc/${values['MainPID']}/ns/mnt`, '--', 'touch', path).code
  t.not(into('/usr/kim-was-here'), 0, 'it cannot write where it has nothing to write')
}

/** Kills the service again and again while mail comes in. */
async function killed(t: Test, scene: Scene, systemd: UserSystemd): Promise<void> {
  const random = new Prng(56)
  const sent: number[] = []
  const mail = setInterval(() => void sent.push(scene.send('argus')), MAIL_MS)
  t.teardown(() => clearInterval(mail))
  const back: number[] = []
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(200 + random.int(500))
    const { MainPID } = systemd.show(UNIT, 'MainPID')
    const killedMs = performance.now()
    systemd.run('systemctl', '--user', 'kill', '--signal=SIGKILL', UNIT)
    await scene.until('it is back', () => {
      const now = systemd.show(UNIT, 'MainPID', 'ActiveState')
      return now['ActiveState'] === 'active' && now['MainPID'] !== MainPID && now['MainPID'] !== '0'
    })
    back.push(Math.round(performance.now() - killedMs))
  }
  clearInterval(mail)
  await scene.tells(`new ${sent.at(-1)}`)
  sentOnce(t, scene.store, sent)
  t.comment(`${sent.length} messages, ${KILLS} kills, active again after ${back.join(', ')} ms`)
}
