import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { complete, cut, messageRow, NF, page, row, type Scene } from '../../kit/kijito/index.js'
import { tail } from '../kim-tail-process.js'
import { said } from './lines.js'

type Report = Readonly<Record<string, unknown>>

const reportIn = (path: string): Report | undefined => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Report
  } catch {
    return undefined
  }
}

async function reported(
  scene: Scene,
  path: string,
  holds: (report: Report) => boolean | undefined,
): Promise<Report> {
  let report: Report = {}
  await scene.until('the report says so', () => {
    report = reportIn(path) ?? {}
    return holds(report) === true
  })
  return report
}

row(
  'M7',
  'who wrote last is known from messages alone (KS-71, KS-89)',
  { standing: { cursor: 100 } },
  async (t, scene) => {
    const path = join(scene.home, 'new', 'activity.json')
    scene.newest(
      page([messageRow(100, { from: 'argus' }), messageRow(200, { created: '2026-06-10T14:03:22Z' })]),
    )
    scene.start([...NF, '--activity-file', path])
    const report = await reported(
      scene,
      path,
      ({ last_authored }) =>
        'river' in Object(last_authored ?? {}) && Object(last_authored)['river'].id === 200,
    )
    t.match(report, {
      observed_since: /Z$/,
      updated: /Z$/,
      observation_floor_id: 100,
      last_authored: { river: { id: 200, created: '2026-06-10T14:03:22Z' } },
      urgent_unread: {},
    })
    t.equal(statSync(path).mode & 0o777, 0o600)
    t.equal(statSync(join(scene.home, 'new')).mode & 0o777, 0o700)
    const ask = (author: string, since: string): number | null =>
      tail(scene.home, ['activity', author, '--since-id', since, '--store', scene.store]).code
    t.same(
      [ask('river', '150'), ask('river', '200'), ask('loom', '150'), ask('loom', '50'), ask('river', '50')],
      [0, 1, 1, 2, 0],
    )
  },
)

row('M8', 'what is no evidence is no silence (CL-33)', {}, async (t, scene) => {
  const none = tail(scene.home, ['activity', 'river', '--since-id', '1', '--store', scene.store])
  t.equal(none.code, 2)
  t.equal(tail(scene.home, ['activity', 'river', '--store', scene.store]).code, 2)
})

row(
  'KS-71',
  'behind an open gap the report observes nothing',
  { standing: { cursor: 100 } },
  async (t, scene) => {
    const path = join(scene.home, 'activity.json')
    scene.newest(cut(200))
    scene.walk(200, { status: 500 })
    scene.start([...NF, '--activity-file', path])
    await scene.tells('alert bounded-window')
    const report = await reported(scene, path, ({ observation_floor_id }) => observation_floor_id === null)
    t.equal(report['observation_floor_id'], null)
  },
)

row(
  'KS-71 file',
  'a report that cannot be written stops nothing',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    const path = join(scene.home, 'activity.json')
    mkdirSync(path)
    scene.newest(complete(4, 5))
    const producer = scene.start([...NF, '--activity-file', path])
    await scene.tells('new 5')
    await scene.until('it is said', () => said(producer.stderr, 'activity_unwritten').length > 0)
    t.same(
      readdirSync(scene.home).filter(name => name.endsWith('.tmp')),
      [],
      'nothing is left of the try',
    )
    rmSync(path, { recursive: true })
    // The first one that can be written may tell of less.
    await reported(scene, path, ({ last_authored }) => JSON.stringify(last_authored)?.includes('"id":5'))
    t.equal(said(producer.stderr, 'activity_unwritten').length, 1)
  },
)
