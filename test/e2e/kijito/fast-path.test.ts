import { existsSync, readFileSync } from 'node:fs'
import { performCommand, readClocks } from '@kim/example-kijito-sim'
import { complete, counts, FP, longPoll, NF, row, type Scene } from '../../kit/kijito/index.js'

/** Polls happen for a reason, or not while a test lasts. */
const RARELY = ['--resync-every', '600']
const NEVER = ['--persona', 'argus', '--poll-seconds', '600', ...RARELY]
/** A long poll beside an interval of a second. */
const WAITING = ['--persona', 'argus', '--poll-seconds', '1', '--wait', '3', ...RARELY]
const standing = { cursor: 5 }

const inboxes = (scene: Scene): number => scene.asked({ endpoint: 'inbox', page: 'newest' }).length
const pendings = (scene: Scene): Record<string, string>[] =>
  scene.asked({ endpoint: 'pending' }).map(({ query }) => query)

async function pended(scene: Scene, count: number): Promise<void> {
  await scene.until(`${count} requests of counts`, () => pendings(scene).length >= count)
}

row('F1', 'an inbox nothing happens in is looked at now and then (KS-55)', { standing }, async (t, scene) => {
  scene.newest(complete(5))
  scene.pending(counts({ argus: 1 }, 'c1'))
  scene.start([...FP, '--resync-every', '3'])
  await scene.until('four polls', () => inboxes(scene) >= 4)
  t.ok(pendings(scene).length > inboxes(scene), `${pendings(scene).length} counts, ${inboxes(scene)} polls`)
})

row('F2', 'a risen count is followed by a poll (KS-54)', { standing }, async (t, scene) => {
  scene.newest(complete(5))
  scene.pending(counts({ argus: 1 }, 'c1'))
  scene.start([...FP, ...RARELY])
  await pended(scene, 4)
  t.ok(inboxes(scene) <= 2, 'no poll for a count that stays')
  scene.clear()
  scene.newest(complete(5, 6))
  scene.pending(counts({ argus: 2 }))
  await scene.tells('new 6')
})

row('F3', 'without counts every inbox is polled (KS-55)', { standing }, async (t, scene) => {
  scene.newest(complete(5))
  scene.pending({ status: 500 })
  scene.start([...FP, ...RARELY])
  await scene.polls(4)
  t.same(scene.story(), ['armed(5)'])
})

row(
  'F4',
  'a failed long poll makes inboxes due, and is tried again ever later (KS-56)',
  { standing },
  async (t, scene) => {
    scene.newest(complete(5))
    scene.pending({ status: 500 })
    scene.start([...longPoll(2), ...RARELY])
    await pended(scene, 5)
    const [first = 0, second = 0, , fourth = 0, fifth = 0] = scene
      .asked({ endpoint: 'pending' })
      .map(({ atMs }) => atMs)
    t.ok(fifth - fourth > second - first, 'the fourth pause is longer than the first')
    t.ok(inboxes(scene) >= 4, 'each failure was followed by a poll')
  },
)

row(
  'F5',
  'the last token is echoed, and nothing is waited for in between (KS-14, KS-53)',
  { standing },
  async (t, scene) => {
    scene.newest(complete(5))
    scene.pending(...['c1', 'c2', 'c3', 'c4'].map(token => ({ ...counts({}, token), hold_ms: 1000 })))
    scene.start([...longPoll(3), ...RARELY])
    await pended(scene, 4)
    t.same(pendings(scene).slice(0, 4), [
      { wait: '3' },
      ...['c1', 'c2', 'c3'].map(cursor => ({ wait: '3', cursor })),
    ])
  },
)

row('F6', 'a token survives failures (KS-14)', { standing }, async (t, scene) => {
  scene.newest(complete(5))
  const bad = { status: 502 }
  scene.pending(counts({}, 'c1'), bad, bad, bad, { ...counts({}, 'c2'), hold_ms: 500 })
  scene.start([...longPoll(3), ...RARELY])
  await pended(scene, 6)
  t.same(
    pendings(scene)
      .slice(0, 6)
      .map(({ cursor }) => cursor),
    [undefined, 'c1', 'c1', 'c1', 'c1', 'c2'],
  )
})

row('F7', 'what is no token is none, and waiting is offered on (KS-14)', { standing }, async (t, scene) => {
  scene.newest(complete(5))
  scene.pending(...[undefined, 5, '', null, ['c']].map(token => counts({}, token)))
  scene.start(WAITING)
  await pended(scene, 6)
  for (const query of pendings(scene)) t.same(query, { wait: '3' })
})

row('F8', 'a token is kept where an answer brings none (KS-14)', { standing }, async (t, scene) => {
  scene.newest(complete(5))
  scene.pending(counts({}, 'c1'), counts({}))
  scene.start(WAITING)
  await pended(scene, 5)
  for (const query of pendings(scene).slice(1)) t.same(query, { wait: '3', cursor: 'c1' })
})

row(
  'F9',
  'a long poll that is never answered is given up, and inboxes are polled (KS-6, KS-56)',
  { standing },
  async (_t, scene) => {
    scene.newest(complete(5))
    scene.pending({ wire: { kind: 'hang' } })
    scene.start(['--wait', '1', ...NEVER])
    await scene.tells('armed(5)')
    await pended(scene, 2)
    await scene.until('a second poll', () => inboxes(scene) >= 2)
  },
)

row(
  'F10',
  'without waiting, counts are asked for at the interval whatever came (KS-56)',
  { standing },
  async (t, scene) => {
    scene.newest(complete(5))
    scene.pending({ status: 500 })
    scene.start(FP)
    await pended(scene, 5)
    for (const query of pendings(scene)) t.same(query, {})
  },
)

row('F11', 'without the fast path no counts are asked for', { standing }, async (t, scene) => {
  scene.newest(complete(5))
  scene.start(NF)
  await scene.polls(3)
  t.same(pendings(scene), [])
})

row('F12', 'an answer of another shape is no answer of counts (KS-15)', { standing }, async (t, scene) => {
  scene.newest(complete(5))
  const odd = [{ text: 'busy' }, { json: [] }, { json: { result: {} } }]
  scene.pending(...odd)
  scene.start([...FP, ...RARELY])
  await pended(scene, 5)
  await scene.polls(2)
  t.same(scene.story(), ['armed(5)'])
})

row('F13', 'odd rows of counts are nothing (KS-13)', { standing }, async (t, scene) => {
  scene.newest(complete(5))
  const rows = [1, { persona: 5 }, { persona: 'argus', unread: '3' }, null]
  scene.pending({ json: { result: rows } })
  scene.start([...FP, ...RARELY])
  await pended(scene, 4)
  t.ok(inboxes(scene) <= 2, 'the counts are believed: no inbox has mail')
  scene.clear()
  scene.newest(complete(5, 6))
  scene.pending({ json: { result: [...rows.slice(0, 2), { persona: 'argus', unread: 1 }] } })
  await scene.tells('new 6')
})

row('F14', 'counts that come in do not hide an inbox that fails (KS-18)', { standing }, async (t, scene) => {
  scene.newest(complete(5), { status: 500 })
  scene.pending(counts({ argus: 0 }))
  scene.start([...FP, '--alert-after', '2', '--resync-every', '2'])
  await scene.tells('alert unreachable')
  t.match(scene.alert('unreachable'), { consecutive_failures: 2 })
})

row('F15', 'nor do they heal one (KS-18)', { standing }, async (t, scene) => {
  scene.newest(complete(5), { status: 500 })
  scene.pending(counts({ argus: 0 }))
  scene.start([...FP, '--alert-after', '1', '--resync-every', '2'])
  await scene.tells('alert unreachable')
  await pended(scene, pendings(scene).length + 4)
  t.same(scene.story(), ['armed(5)', 'alert unreachable'])
  scene.clear()
  scene.newest(complete(5))
  scene.pending(counts({ argus: 0 }))
  await scene.tells('recovered')
})

row(
  'F16',
  'a risen count stays due until a poll succeeds (KS-54, KS-55)',
  { standing },
  async (_t, scene) => {
    scene.newest(complete(5))
    scene.pending(counts({ argus: 1 }, 'c1'))
    scene.start([...FP, ...RARELY])
    await pended(scene, 3)
    scene.clear()
    scene.newest({ status: 503 }, complete(5, 6))
    scene.pending(counts({ argus: 2 }, 'c2'))
    await scene.tells('new 6')
  },
)

row(
  'F18',
  'one read and one new leave the count and the token as they are: the resync finds it (KS-55)',
  { standing },
  async (_t, scene) => {
    scene.newest(complete(5))
    scene.pending(counts({ argus: 1 }, 'c1'))
    scene.start([...FP, '--resync-every', '4'])
    await pended(scene, 3)
    scene.clear()
    scene.newest(complete(5, 6))
    scene.pending(counts({ argus: 1 }, 'c1'))
    await scene.tells('new 6')
  },
)

row(
  'F18',
  'without a token, an inbox with unread mail is polled at the interval (KS-54)',
  { standing },
  async (_t, scene) => {
    scene.newest(complete(5))
    scene.pending(counts({ argus: 1 }))
    scene.start([...FP, ...RARELY])
    await pended(scene, 3)
    scene.clear()
    scene.newest(complete(5, 6))
    scene.pending(counts({ argus: 1 }))
    await scene.tells('new 6')
  },
)

row(
  'F18',
  'on the local dialect, mail that came as other mail was read is found at the interval (KS-54)',
  { settings: { dialect: 'local' } },
  async (t, scene) => {
    scene.start([...FP, ...RARELY, '--dialect', 'local'])
    await scene.tells('armed(0)')
    const first = scene.send('argus')
    await scene.tells(`new ${first}`)
    // One turn of the server's loop: no answer can come between the two.
    performCommand(scene.kijito, { do: 'read', persona: 'argus' }, readClocks())
    const second = scene.send('argus', 'river', { urgent: true })
    await scene.tells(`new ${second}`)
    await scene.until('it was read', () => scene.payload('message', `argus/${first}`)?.['read'] === true)
    t.same(scene.story(), ['armed(0)', `new ${first}`, `new ${second}`])
  },
)

row('F18', 'or a changed token does, at once (KS-54)', { standing }, async (_t, scene) => {
  scene.newest(complete(5))
  scene.pending(counts({ argus: 1 }, 'c1'), { ...counts({ argus: 1 }, 'c2'), hold_ms: 8000 })
  scene.start(['--wait', '600', ...NEVER])
  await scene.tells('armed(5)')
  await pended(scene, 2)
  // What is held has its answer already; no other is to come.
  scene.clear()
  scene.newest(complete(5, 6))
  scene.pending({ ...counts({ argus: 1 }, 'c2'), hold_ms: 600_000 })
  await scene.tells('new 6')
})

row('F19', 'a server that never holds is not asked without pause (KS-53)', { standing }, async (t, scene) => {
  scene.newest(complete(5))
  scene.pending(counts({}, 'c1'))
  scene.start([...longPoll(3), ...RARELY])
  await pended(scene, 5)
  const times = scene.asked({ endpoint: 'pending' }).map(({ atMs }) => atMs)
  const seconds = ((times[4] ?? 0) - (times[0] ?? 0)) / 1000
  t.ok(4 <= 2 * seconds + 1, `4 more in ${seconds} s`)
})

row(
  'F20',
  'a signal polls now, and two of them at once poll once (KS-57)',
  { standing },
  async (t, scene) => {
    scene.newest(complete(5))
    const producer = scene.start(['--no-fast-path', ...NEVER])
    await scene.tells('armed(5)')
    producer.signal('SIGUSR1')
    await scene.until('a second poll', () => inboxes(scene) === 2)
    // While it is stopped both arrive together; it stops a moment after it was told to.
    producer.signal('SIGSTOP')
    await scene.until('it is stopped', () => isStopped(producer.child.pid))
    producer.signal('SIGUSR1')
    producer.signal('SIGUSR1')
    scene.clear()
    scene.newest(complete(5, 6), complete(5, 6, 7))
    producer.signal('SIGCONT')
    await scene.tells('new 6')
    t.equal(inboxes(scene), 3)
    producer.signal('SIGUSR1')
    await scene.tells('new 7')
    t.equal(inboxes(scene), 4)
  },
)

row('F21', 'a signal polls now while a request is held (KS-8, KS-57)', { standing }, async (t, scene) => {
  scene.newest(complete(5), complete(5, 6))
  scene.pending({ ...counts({}, 'c1'), hold_ms: 600_000 })
  const producer = scene.start(['--wait', '600', ...NEVER])
  await scene.tells('armed(5)')
  await pended(scene, 1)
  producer.signal('SIGUSR1')
  await scene.tells('new 6')
  t.equal(inboxes(scene), 2)
})

/** Whether a process stands still, as far as the system tells. */
function isStopped(pid: number | undefined): boolean {
  const file = `/proc/${pid}/stat`
  return !existsSync(file) || /\) T /.test(readFileSync(file, 'utf8'))
}
