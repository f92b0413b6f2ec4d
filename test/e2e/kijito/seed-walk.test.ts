// The first poll behind an import or a seed: it asks for nothing below the id that was taken over (KS-35, KS-88).
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { complete, cut, NF, row, type Scene } from '../../kit/kijito/index.js'

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at)
const news = (...ids: readonly number[]): string[] => ids.map(id => `new ${id}`)

/** Takes over argus from an older monitor that had announced everything up to an id. */
async function takeOver(t: Test, scene: Scene, cursor: number): Promise<void> {
  const { protocol, hostname, port } = new URL(scene.url)
  const identity = [protocol.slice(0, -1), hostname, Number(port), '/api/inbox', [['persona', 'argus']]]
  const path = join(scene.home, 'hive.argus.json')
  const state = { identity, cursor, state: 'UP', consecutive_failures: 0 }
  writeFileSync(path, JSON.stringify(state), { mode: 0o600 })
  const run = scene.run(['import', '--store', scene.store, '--state-file', path])
  t.equal(await run.ended, 0, run.stderr)
}

/** The `before_id` of each request for a page of argus; `newest` without one. */
const pages = (scene: Scene): string[] =>
  scene
    .asked({ endpoint: 'inbox', persona: 'argus', unread_only: false })
    .map(({ query }) => query['before_id'] ?? 'newest')

/** 600 messages that were read, of which a page shows nine. */
const deep = { settings: { pageRows: 9 } }
async function fill(scene: Scene): Promise<void> {
  for (let id = 1; id <= 600; id++) scene.send('argus', 'river', { id })
  await scene.tell({ do: 'read', persona: 'argus' })
}

row('KS-35', 'after an import at the end, the first look is one request', deep, async (t, scene) => {
  await fill(scene)
  await takeOver(t, scene, 601)
  scene.start(NF)
  await scene.tells('armed(600)')
  await scene.polls(1)
  t.same(scene.story(), ['seed_ahead', 'armed(600)'], 'no alert')
  t.same(scene.silent(), range(592, 600), 'what the page shows is recorded')
  t.ok(
    pages(scene).every(page => page === 'newest'),
    pages(scene).join(' '),
  )
  t.match(scene.payload('persona', 'argus'), { floor: 592, cursor: 600 })
  scene.send('argus', 'river', { id: 601 })
  scene.send('argus', 'river', { id: 602 })
  await scene.tells('new 602')
  t.same(scene.silent().at(-1), 601, 'what the monitor had announced is silent')
})

row('KS-35', 'after an import in the middle, the walk ends at the cursor', deep, async (t, scene) => {
  await fill(scene)
  await takeOver(t, scene, 570)
  scene.start(NF)
  await scene.tells('new 600')
  await scene.polls(1)
  t.same(scene.story(), ['armed(0)', ...news(...range(571, 600))])
  t.same(scene.silent(), [])
  t.same(
    pages(scene).filter(page => page !== 'newest'),
    ['592', '583', '574'],
  )
})

row('KS-35', '--seed-at ends the walk of a new inbox too', deep, async (t, scene) => {
  await fill(scene)
  scene.start([...NF, '--seed-at', '570'])
  await scene.tells('new 600')
  await scene.polls(1)
  t.same(scene.story(), ['armed(0)', ...news(...range(571, 600))])
  t.same(
    pages(scene).filter(page => page !== 'newest'),
    ['592', '583', '574'],
  )
})

row('KS-25', 'a walk above the cursor that fails is pinned at the cursor', deep, async (t, scene) => {
  await fill(scene)
  await takeOver(t, scene, 570)
  scene.rule({ on: { endpoint: 'inbox', page: 'walk' }, effect: { status: 500 } })
  const first = scene.start(NF)
  await scene.tells('new 600')
  t.same(scene.story(), ['armed(0)', 'alert bounded-window', ...news(...range(592, 600))])
  t.match(scene.alert('bounded-window'), { cursor_at: 570, window_floor: 592 })
  t.equal(await first.stop(), 0)
  scene.clear()
  scene.start(NF)
  await scene.tells('cleared bounded-window')
  t.same(scene.story().slice(11), ['armed(570)', ...news(...range(571, 591)), 'cleared bounded-window'])
})

/** A backlog over the cap, above what was taken over from the older monitor. */
function capped(cursor: number, ids: readonly number[], cap: string) {
  return async (t: Test, scene: Scene): Promise<void> => {
    await takeOver(t, scene, cursor)
    scene.start([...NF, '--max-replay', cap])
    const highest = ids.at(-1)
    await scene.tells(`armed(${highest})`)
    await scene.polls(1)
    t.same(scene.story(), ['replay_capped', `armed(${highest})`])
    t.match(scene.told('replay_capped'), { capped_to: highest, dropped: ids.length })
    t.same(
      scene.silent().filter(id => id > cursor),
      ids,
    )
  }
}

row('B8', 'a backlog above an import, one over the cap (KS-34, KS-35)', {}, (t, scene) => {
  scene.newest(complete(...range(5, 55)))
  return capped(4, range(5, 55), '50')(t, scene)
})

row('B9', 'an import and a cap of none (KS-34, KS-35)', {}, (t, scene) => {
  scene.newest(complete(4, 5))
  return capped(4, [5], '0')(t, scene)
})

row('G31', 'a cut window over the cap is walked to the import (KS-34, KS-35)', {}, async (t, scene) => {
  scene.newest(cut(200, 201, 202))
  scene.walk(200, cut(99, 100, 150))
  await capped(100, [150, 200, 201, 202], '2')(t, scene)
  t.same(scene.silent(), [150, 200, 201, 202], 'nothing of the walk below it comes in')
  t.match(scene.payload('persona', 'argus'), { floor: 101 })
})

row('G32', 'what only the walk to the import shows counts too (KS-34, KS-35)', {}, (t, scene) => {
  scene.newest(cut(200, 201))
  scene.walk(200, complete(...range(101, 199)))
  return capped(100, range(101, 201), '2')(t, scene)
})
