import { complete, counts, cut, FP, NF, row } from '../../kit/kijito/index.js'

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at)

/** A page that comes long after the counts that are asked for at the same time. */
const afterCounts = { ...complete(5, 9), delay_ms: 3000 }

row('B1', 'first contact is silent and says what it passed over (KS-30, KS-31)', {}, async (t, scene) => {
  scene.newest(complete(5, 9))
  scene.start(NF)
  await scene.tells('armed(9)')
  t.same(scene.story(), ['baseline_skipped', 'armed(9)'])
  t.same(scene.silent(), [5, 9])
  t.match(scene.told('baseline_skipped'), {
    armed_at: 9,
    skipped: 2,
    id_range: [5, 9],
    unread_held: 'unknown',
  })
})

row('B2', 'the unread count is announced where counts are in (KS-31)', {}, async (t, scene) => {
  scene.newest(afterCounts)
  scene.pending(counts({ argus: 3 }))
  scene.start(FP)
  await scene.tells('armed(9)')
  t.same(scene.story(), ['baseline_skipped', 'armed(9)'])
  t.match(scene.told('baseline_skipped'), { armed_at: 9, skipped: 2, unread_held: 3 })
})

row('B3', 'nothing unread is passed over silently (KS-31)', {}, async (t, scene) => {
  scene.newest(afterCounts)
  scene.pending(counts({ argus: 0 }))
  scene.start(FP)
  await scene.tells('armed(9)')
  t.same(scene.story(), ['armed(9)'])
})

row('B4', 'a persona without a row of counts has nothing unread (KS-31)', {}, async (t, scene) => {
  scene.newest(afterCounts)
  scene.pending(counts({}))
  scene.start(FP)
  await scene.tells('armed(9)')
  t.same(scene.story(), ['armed(9)'])
})

row('B5', 'an empty inbox is armed at 0 (KS-30)', {}, async (t, scene) => {
  scene.newest(complete())
  scene.start(NF)
  await scene.tells('armed(0)')
  t.same(scene.story(), ['armed(0)'])
})

row(
  'B6',
  'what came meanwhile is news, by ascending id (KS-10, KS-34)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(3, 5, 7, 6))
    scene.start(NF)
    await scene.tells('new 7')
    await scene.polls(1)
    t.same(scene.story(), ['armed(4)', 'new 5', 'new 6', 'new 7'])
    t.same(scene.silent(), [])
  },
)

row('B7', 'as many as the cap allows are news (KS-34)', { standing: { cursor: 4 } }, async (t, scene) => {
  scene.newest(complete(...range(5, 54)))
  scene.start(NF)
  await scene.tells('new 54')
  t.same(scene.story(), ['armed(4)', ...range(5, 54).map(id => `new ${id}`)])
})

row(
  'B8',
  'one more, and none is; all are recorded (KS-34)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(...range(5, 55)))
    const producer = scene.start(NF)
    await scene.tells('armed(55)')
    await scene.polls(1)
    t.same(scene.story(), ['replay_capped', 'armed(55)'])
    t.match(scene.told('replay_capped'), { capped_to: 55, dropped: 51 })
    t.same(scene.silent(), range(5, 55))
    const lines = producer.stderr.split('\n').filter(line => line.includes('"replay_capped"'))
    t.equal(lines.length, 1, producer.stderr)
    t.match(JSON.parse(lines[0] ?? '{}'), {
      persona: 'argus',
      msg: 'argus: 51 messages up to message 55 are recorded but not announced, because more came than --max-replay allows',
      hint: /--max-replay .* kim-tail -p argus /,
      dropped: 51,
    })
  },
)

row(
  'B9',
  'a cap of none silences any backlog, and nothing after it (KS-34)',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    scene.newest(complete(4, 5), complete(4, 5, 6))
    scene.start([...NF, '--max-replay', '0'])
    await scene.tells('new 6')
    t.same(scene.story(), ['replay_capped', 'armed(5)', 'new 6'])
    t.match(scene.told('replay_capped'), { capped_to: 5, dropped: 1 })
    t.same(scene.silent(), [5])
  },
)

row(
  'B10',
  'a seed above everything is announced, silences, and is no watermark (KS-35, KS-36)',
  {},
  async (t, scene) => {
    scene.newest(complete(3, 539), complete(3, 539, 600, 601))
    scene.start([...NF, '--seed-at', '600'])
    await scene.tells('new 601')
    t.same(scene.story(), ['seed_ahead', 'armed(539)', 'new 601'])
    t.match(scene.told('seed_ahead'), { seeded: 600, current_max: 539 })
    t.same(scene.silent(), [3, 539, 600])
  },
)

row('B11', 'a seed silences what is not above it (KS-35)', {}, async (t, scene) => {
  scene.newest(complete(3, 5, 7))
  scene.start([...NF, '--seed-at', '5'])
  await scene.tells('new 7')
  t.same(scene.story(), ['armed(5)', 'new 7'])
  t.same(scene.silent(), [3, 5])
})

row(
  'B11',
  'a seed at an existing watermark is refused (KS-35)',
  { standing: { cursor: 5 } },
  async (t, scene) => {
    const producer = scene.start([...NF, '--seed-at', '5'])
    t.equal(await scene.endOf(producer), 2)
    t.match(producer.stderr, /--after-id/)
    t.same(scene.asked(), [])
  },
)

row(
  'B11',
  'a unit that keeps its seed starts again, and the log says that it has no effect any more (KS-35)',
  {},
  async (t, scene) => {
    scene.newest(complete(3, 5, 7))
    const first = scene.start([...NF, '--seed-at', '5'])
    await scene.tells('new 7')
    await first.stop()
    t.notMatch(first.stderr, /flag_ignored/)
    scene.clear()
    scene.newest(complete(3, 5, 7, 9))
    const second = scene.start([...NF, '--seed-at', '5'])
    await scene.tells('new 9')
    t.same(scene.story(), ['armed(5)', 'new 7', 'armed(7)', 'new 9'])
    await second.stop()
    t.match(second.stderr, /flag_ignored.*--seed-at 5 has no effect any more/)
    t.equal(await scene.endOf(scene.start([...NF, '--seed-at', '6'])), 2, 'another one is refused')
  },
)

row(
  'B11',
  'a seed above a watermark silences what comes in up to it (KS-35)',
  { standing: { cursor: 5 } },
  async (t, scene) => {
    scene.newest(complete(5, 6, 8, 9))
    const producer = scene.start([...NF, '--seed-at', '8'])
    await scene.tells('new 9')
    t.same(scene.story(), ['armed(8)', 'new 9'])
    t.same(scene.silent(), [6, 8])
    t.equal(await producer.stop(), 0)
    t.notMatch(producer.stderr, /flag_ignored/)
  },
)

row(
  'B12',
  'first contact that was cut short goes on (KS-30)',
  { standing: { cursor: 3, isUnmet: true } },
  async (t, scene) => {
    scene.newest(complete(3, 5))
    scene.start(NF)
    await scene.tells('armed(5)')
    t.same(scene.story(), ['baseline_skipped', 'armed(5)'])
    t.same(scene.silent(), [5])
  },
)

row(
  'B12',
  'first contact that was cut short, and passed by a bounded page, walks down to where it began (KS-94)',
  { standing: { cursor: 72, isUnmet: true } },
  async (t, scene) => {
    scene.newest(cut(102, 110))
    scene.walk(102, cut(80, 90, 101))
    scene.walk(80, cut(71, 72, 73))
    scene.start(NF)
    await scene.tells('armed(110)')
    await scene.polls(1)
    t.same(scene.story(), ['baseline_skipped', 'armed(110)'])
    t.match(scene.told('baseline_skipped'), { armed_at: 110, skipped: 7, id_range: [72, 110] })
    t.match(scene.payload('persona', 'argus'), { floor: 72, cursor: 110 })
    t.same(scene.silent(), [73, 80, 90, 101, 102, 110])
  },
)

row(
  'B12',
  'and while that walk fails, later mail wakes (KS-25, KS-94)',
  { standing: { cursor: 72, isUnmet: true } },
  async (t, scene) => {
    scene.newest(cut(102, 110), cut(102, 110, 111))
    scene.walk(102, { status: 500 }, { status: 500 }, cut(71, 72, 73, 101))
    scene.start(NF)
    await scene.tells('cleared bounded-window')
    t.same(scene.story(), [
      ...['alert bounded-window', 'armed(110)', 'new 111', 'baseline_skipped', 'cleared bounded-window'],
    ])
    t.match(scene.told('baseline_skipped'), { armed_at: 110, skipped: 5, id_range: [72, 110] })
  },
)

row(
  'B13',
  'arming waits for the first healthy poll (KS-32)',
  { standing: { cursor: 5 } },
  async (t, scene) => {
    scene.newest({ status: 500 }, { status: 500 }, complete(3, 5, 6))
    scene.start(NF)
    await scene.tells('new 6')
    t.same(scene.story(), ['armed(5)', 'new 6'])
    t.ok(scene.asked({ endpoint: 'inbox' }).length >= 3)
  },
)

row(
  'B14',
  'an inbox that was empty begins with its first message (KS-32)',
  { standing: { cursor: 0 } },
  async (t, scene) => {
    scene.newest(complete(3, 5))
    scene.start(NF)
    await scene.tells('new 5')
    t.same(scene.story(), ['armed(0)', 'new 3', 'new 5'])
  },
)
