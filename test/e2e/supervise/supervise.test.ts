import { appendFileSync, chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { segmentName, storePaths } from '@kim/manifest'
import type { Test } from 'tap'
import { isSoak, Prng } from '../../kit/index.js'
import { readRecords, row, type Scene } from '../../kit/kijito/index.js'
import { type Life, UnitSupervisor } from '../../kit/unit-supervisor.js'
import { linesIn } from '../sinks/lines.js'
import { sentOnce } from './sent-once.js'

/** How often the service is killed. */
const KILLS = isSoak() ? 40 : 6
/** Between two messages. */
const MAIL_MS = 20

interface Setting {
  readonly supervisor: UnitSupervisor
  readonly token: string
  readonly file: string
}

/** The service as its own command would install it. */
async function installed(t: Test, scene: Scene, more: readonly string[] = []): Promise<Setting> {
  const token = join(scene.home, 'token')
  writeFileSync(token, 'tok\n', { mode: 0o600 })
  const file = join(scene.home, 'out', 'ev.ndjson')
  const where = ['--store', scene.store, '--url', scene.url, '--allow-loopback', '--dialect', 'hosted']
  const what = ['--persona', 'argus', '--poll-seconds', '1', '--wait', '5', '--max-replay', '100000']
  const flags = [...where, ...what, '--token-file', token, '--events-file', file, '--max-bytes', '0', ...more]
  const print = scene.run(['install-service', '--print', '--target', 'systemd-user', ...flags])
  t.equal(await scene.endOf(print), 0, print.stderr)
  const env = { PATH: process.env['PATH'] ?? '', HOME: scene.home }
  const supervisor = new UnitSupervisor(print.stdout, env)
  t.teardown(() => supervisor.stop())
  return { supervisor, token, file }
}

/** Waits until a life says that it is at work. */
async function atWork(scene: Scene, supervisor: UnitSupervisor, number: number): Promise<Life> {
  const life = (): Life | undefined => supervisor.lives[number]
  await scene.until(`life ${number} is at work`, () => life()?.stderr.includes('"code":"started"') === true)
  const found = life()
  if (found === undefined) throw new Error('it is gone')
  return found
}

row(
  'CL-18 kills',
  'while mail flows: back at once, one at a time, nothing lost or appended twice',
  {},
  async (t, scene) => {
    const random = new Prng(18)
    const { supervisor, file } = await installed(t, scene)
    supervisor.start()
    await atWork(scene, supervisor, 0)
    await scene.tells('armed(0)')
    const sent: number[] = []
    const mail = setInterval(() => void sent.push(scene.send('argus')), MAIL_MS)
    t.teardown(() => clearInterval(mail))
    const back: number[] = []
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(100 + random.int(700))
      if (kill % 3 === 1) {
        const rival = scene.run(
          ['run', '--store', scene.store, '--url', scene.url, '--allow-loopback', '--dialect', 'hosted'],
          { KIM_TOKEN: 'tok' },
        )
        t.equal(await scene.endOf(rival), 75, 'a rival is refused')
      }
      const killedMs = performance.now()
      supervisor.signal('SIGKILL')
      await atWork(scene, supervisor, kill + 1)
      back.push(Math.round(performance.now() - killedMs))
    }
    clearInterval(mail)
    await scene.tells(`new ${sent.at(-1)}`)
    const isTold = (): boolean => linesIn(file).some(({ id }) => id === sent.at(-1))
    await scene.until('the events file has the last one', isTold)
    t.equal(await supervisor.stop(), 0)
    t.same(
      supervisor.lives.slice(0, -1).map(({ end }) => end),
      Array.from({ length: KILLS }, () => 'SIGKILL'),
    )

    const runs = sentOnce(t, scene.store, sent)
    t.equal(runs.length, KILLS + 1)

    const told = linesIn(file).flatMap(({ event, id }) => (event === 'new' ? [id] : []))
    t.same(told, sent, 'each one stands in the events file once, in order (KS-90)')
    t.comment(
      `${sent.length} messages, ${KILLS} kills, back at work after ${back.join(', ')} ms (1000 of them are RestartSec)`,
    )
  },
)

row('CL-18 exit 2', 'what starting again cannot mend is not started again', {}, async (t, scene) => {
  const { supervisor, token } = await installed(t, scene)
  rmSync(token)
  supervisor.start()
  t.equal(await supervisor.ended(), 2)
  t.notOk(supervisor.isActive)
  writeFileSync(token, 'tok\n', { mode: 0o644 })
  supervisor.start()
  t.equal(await supervisor.ended(), 77)
  t.notOk(supervisor.isActive)
  chmodSync(token, 0o600)
  mkdirSync(scene.store, { recursive: true })
  supervisor.start()
  await atWork(scene, supervisor, 2)
  t.equal(await supervisor.stop(), 0)
})

row('CL-14 stop', 'SIGTERM ends it for good, and the journal says so', {}, async (t, scene) => {
  const { supervisor } = await installed(t, scene)
  supervisor.start()
  await atWork(scene, supervisor, 0)
  await scene.tells('armed(0)')
  supervisor.signal('SIGTERM')
  t.equal(await supervisor.ended(), 0)
  t.notOk(supervisor.isActive, 'a clean end is no failure')
  t.equal(readRecords(scene.store).at(-1)?.item_id, 'producer_stopped')
})

row('CL-18 exit 1', 'a failure that may pass is tried again', {}, async (t, scene) => {
  const { supervisor } = await installed(t, scene)
  supervisor.start()
  await atWork(scene, supervisor, 0)
  await scene.tells('armed(0)')
  intrude(scene)
  const id = scene.send('argus')
  t.equal(await supervisor.ended(), 1, 'something else wrote to the store')
  await atWork(scene, supervisor, 1)
  await scene.tells(`new ${id}`)
  t.equal(await supervisor.stop(), 0)
})

/** Appends a record as another writer would. */
function intrude(scene: Scene): void {
  const { events } = storePaths(scene.store)
  const last = scene.records().at(-1)
  const record = { ...last?.raw, seq: Number(last?.seq) + 1, writer: 'w_1-00ff' }
  appendFileSync(join(events, segmentName(1)), `${JSON.stringify(record)}\n`)
}
