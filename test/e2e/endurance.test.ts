// Following for a long time: nothing is missed, and memory does not grow with what was appended.
import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeRecord } from '@kim/manifest'
import t from 'tap'
import { makeJournal } from '../bench/bench-journal.js'
import { fastTmpdir, isSoak } from '../kit/index.js'
import { ended, scriptPath } from './writer-process.js'

/** Ten minutes over a million records in the long form. */
const SIZE = isSoak()
  ? { before: 1_000_000, entities: 20_000, appended: 1_200_000, pauseMs: 50 }
  : { before: 50_000, entities: 2000, appended: 60_000, pauseMs: 5 }
const AT_A_TIME = 100
/** These are written again and again, as an inbox is whose mail is read. */
const ENTITIES = 1000

function line(seq: number, n: number): string {
  const id = (n % ENTITIES) + 1
  const revision = Math.floor(n / ENTITIES) + 1
  return encodeRecord({
    v: 2,
    seq,
    ts: '2026-06-10T14:03:22.114Z',
    writer: 'w_31416-9f3c2a',
    agent: 'river',
    action: revision === 1 ? 'create' : 'update',
    ...(revision === 1 ? { event: 'new' } : {}),
    item_type: 'message',
    item_id: `river/${id}`,
    entity_rev: revision,
    summary: `message ${id}`,
    payload: {
      schema_version: 1,
      persona: 'river',
      id,
      from: 'argus',
      content: `version ${revision}`,
      read: false,
    },
  })
}

t.setTimeout(1_500_000)

t.test(
  'observer - follows steadily, misses nothing and holds no more at the end than at the beginning',
  async t => {
    const root = mkdtempSync(join(fastTmpdir(), 'kim-endurance-'))
    t.teardown(() => rmSync(root, { recursive: true, force: true }))
    const eventsDir = join(root, 'events')
    const { segments } = makeJournal(eventsDir, { records: SIZE.before, entities: SIZE.entities })
    // The notes of the journal about itself have seqs too.
    const head = SIZE.before + segments
    const args = ['--expose-gc', scriptPath('endurance-child.js'), '--events', eventsDir]
    const child = spawn(process.execPath, [...args, '--until', String(head + SIZE.appended)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    const end = ended(child)
    await new Promise(resolve => child.stdout.once('data', resolve))
    const fd = openSync(join(eventsDir, readdirSync(eventsDir).toSorted().at(-1) ?? ''), 'a')
    for (let n = 0; n < SIZE.appended; n += AT_A_TIME) {
      writeSync(fd, Array.from({ length: AT_A_TIME }, (_, at) => line(head + 1 + n + at, n + at)).join(''))
      await sleep(SIZE.pauseMs)
    }
    closeSync(fd)
    const { code, stdout } = await end
    t.equal(code, 0)
    const said = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
    t.same(said.breaks, [], 'each record once, in order')
    t.equal(said.entities, SIZE.entities + ENTITIES)
    t.same(said.anomalies, {})
    const weights: readonly number[] = said.weights
    // The first third is for what is filled once: the seqs kept in mind, the activity, the cells of the state.
    const early = Math.max(...weights.slice(2, 4))
    const late = Math.max(...weights.slice(-4))
    t.ok(
      late <= early * 1.05 + 2,
      `${late.toFixed(1)} MB at the end, ${early.toFixed(1)} MB at the beginning`,
    )
    const whole = (list: readonly number[]): string => list.map(mb => mb.toFixed(0)).join(' ')
    t.comment(
      `${SIZE.before} records and ${SIZE.appended} more; alive ${whole(weights)} MB; resident ${whole(said.residents)} MB`,
    )
  },
)
