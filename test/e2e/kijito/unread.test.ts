import { ALL, complete, counts, cut, directory, type Members, NF, page, row } from '../../kit/kijito/index.js'

const standing = { cursor: 100 }
const open = { unread_not_shown: 3, window_floor: 90, cursor_at: 100, above_watermark: false }
const alarm = 'alert unread-not-shown'

/** A window that is steadily cut below the watermark, with what it says of hidden unread mail. */
const steady = (unread_not_shown: unknown, more: Members = {}): ReturnType<typeof page> =>
  page([90, 100], { truncated: true, next_before_id: 90, unread_not_shown, ...more })

row('H1', 'unread mail that no window shows is an alarm (KS-62)', { standing }, async (t, scene) => {
  scene.newest(steady(3))
  scene.start(NF)
  await scene.tells(alarm)
  await scene.polls(2)
  t.same(scene.story(), ['armed(100)', alarm])
  t.match(scene.alert('unread-not-shown'), open)
})

row(
  'H2',
  'it is announced after the news of its window, and that it may be above them (KS-46)',
  { standing },
  async (t, scene) => {
    scene.newest(page([200], { unread_not_shown: 2 }))
    scene.start(NF)
    await scene.tells(alarm)
    t.same(scene.story(), ['armed(100)', 'new 200', alarm])
    t.match(scene.alert('unread-not-shown'), {
      unread_not_shown: 2,
      window_floor: 200,
      above_watermark: true,
    })
  },
)

row('H3', 'an empty window says neither', { standing }, async (t, scene) => {
  scene.newest(page([], { unread_not_shown: 2 }))
  scene.start(NF)
  await scene.tells(alarm)
  t.match(scene.alert('unread-not-shown'), { unread_not_shown: 2, window_floor: null, above_watermark: null })
})

row('H4', 'a justified zero ends it, and it can come again', { standing }, async (t, scene) => {
  scene.newest(steady(3), steady(3), steady(0), steady(0), steady(3))
  scene.start(NF)
  await scene.tells(alarm, 2)
  await scene.polls(1)
  t.same(scene.story(), ['armed(100)', alarm, 'cleared unread-not-shown', alarm])
})

const latched = { cursor: 100, open: { 'unread-not-shown': open } }

row('H5', 'it is not announced again after a restart (KS-48)', { standing: latched }, async (t, scene) => {
  scene.newest(steady(3))
  scene.start(NF)
  await scene.polls(2)
  t.same(scene.story(), ['armed(100)'])
})

row('H6', 'no statement changes nothing (KS-62)', { standing }, async (t, scene) => {
  scene.newest(steady(3), steady(undefined))
  scene.start(NF)
  await scene.tells(alarm)
  await scene.polls(3)
  t.same(scene.story(), ['armed(100)', alarm])
})

row('H7', 'what is no count is no statement (KS-62)', { standing }, async (t, scene) => {
  scene.newest(...['4', 1.5, true, -1, null].map(value => steady(value)))
  scene.start(NF)
  await scene.polls(6)
  t.same(scene.story(), ['armed(100)'])
})

row('H8', 'a zero that contradicts itself ends nothing (KS-62)', { standing: latched }, async (t, scene) => {
  scene.newest(steady(0, { next_before_id: null }))
  scene.start(NF)
  await scene.polls(3)
  t.same(scene.story(), ['armed(100)'])
})

row('H9', 'pages of a walk are not asked (KS-62)', { standing }, async (t, scene) => {
  scene.newest(cut(200))
  scene.walk(200, page([150], { unread_not_shown: 9 }))
  scene.start(NF)
  await scene.tells('new 200')
  await scene.polls(1)
  t.same(scene.story(), ['armed(100)', 'new 150', 'new 200'])
})

row(
  'H10',
  'it is held back for an inbox that the directory does not list (KS-62, KS-69)',
  {},
  async (t, scene) => {
    scene.rule({ on: { endpoint: 'personas' }, effect: directory('argus'), name: 'directory' })
    scene.newest(complete())
    scene.rule({ on: { endpoint: 'inbox', persona: 'loom' }, effect: page([7], { unread_not_shown: 3 }) })
    scene.pending(counts({ loom: 1 }))
    scene.start([...ALL, '--rediscover-every', '1'])
    await scene.tells('armed(0)')
    const directories = scene.asked({ endpoint: 'personas' }).length
    await scene.until(
      'more looks at the directory',
      () => scene.asked({ endpoint: 'personas' }).length > directories + 2,
    )
    t.same(scene.story('loom'), [])
    await scene.tell({ do: 'drop_rules', name: 'directory' })
    scene.rule({ on: { endpoint: 'personas' }, effect: directory('argus', 'loom') })
    await scene.tells(alarm, 1, 'loom')
    await scene.polls(1, 'loom')
    t.equal(scene.story('loom').filter(line => line === alarm).length, 1)
  },
)
