import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ALL, complete, directory, FP, NF, row, type Scene } from '../../kit/kijito/index.js'

/** Runs a producer that cannot work, to its end. */
async function refused(
  scene: Scene,
  flags: readonly string[],
  env?: Record<string, string>,
): Promise<unknown> {
  return scene.endOf(scene.start(flags, env))
}

function tokenFile(scene: Scene, text: string): string {
  const path = join(scene.home, 'token')
  writeFileSync(path, text, { mode: 0o600 })
  return path
}

row('A1', 'without a token nothing is asked (KS-83)', {}, async (t, scene) => {
  const producer = scene.start(NF, {})
  t.equal(await scene.endOf(producer), 2)
  t.match(producer.stderr, /token/i)
  t.same(scene.asked(), [])
})

row('A2', 'a token file that is not there (KS-83)', {}, async (t, scene) => {
  t.equal(await refused(scene, [...NF, '--token-file', join(scene.home, 'nowhere')]), 2)
  t.same(scene.asked(), [])
})

row(
  'A3',
  'white space around a token is dropped, and its file beats the variable (KS-83)',
  {},
  async (t, scene) => {
    scene.newest(complete(5))
    scene.start([...NF, '--token-file', tokenFile(scene, '  filetok \n')])
    await scene.tells('armed(5)')
    t.match(scene.asked()[0]?.headers, { authorization: 'Bearer filetok' })
  },
)

row('A4', 'an empty token file is refused though the variable is set (KS-83)', {}, async (t, scene) => {
  t.equal(await refused(scene, [...NF, '--token-file', tokenFile(scene, '\n')]), 2)
  t.same(scene.asked(), [])
})

row('A5', 'a header of its own takes the token as it is (KS-4)', {}, async (t, scene) => {
  scene.newest(complete(5))
  scene.start([...NF, '--auth-header', 'X-K'])
  await scene.tells('armed(5)')
  for (const { headers } of scene.asked()) {
    t.equal(headers['x-k'], 'tok')
    t.notOk('authorization' in headers)
  }
})

row(
  'A6',
  'every request names its agent (KS-4)',
  { settings: { namedAgentsOnly: true } },
  async (t, scene) => {
    scene.send('argus')
    scene.start(FP)
    await scene.tells('armed(1)')
    await scene.until('counts', () => scene.asked({ endpoint: 'pending' }).length > 0)
    for (const { headers } of scene.asked()) t.match(headers['user-agent'], /^kim\/\d/)
  },
)

row('A7', 'a token with a line break is refused at the start (KS-83)', {}, async (t, scene) => {
  t.equal(await refused(scene, NF, { KIM_TOKEN: 'tok\nen' }), 2)
  t.same(scene.asked(), [])
})

row('A8', 'numbers that cannot work (CL-12)', {}, async (t, scene) => {
  const flags = [
    ['--alert-after', '0'],
    ['--resync-every', '0'],
    ['--rediscover-every', '0'],
    ['--poll-seconds', '0'],
    ['--wait', '-1'],
    ['--heartbeat', '0'],
    ['--content-chars', '-1'],
    ['--max-replay', '-1'],
    ['--keep-logs', '0'],
  ]
  for (const pair of flags) t.equal(await refused(scene, ['--persona', 'argus', ...pair]), 2, pair.join(' '))
  t.same(scene.asked(), [])
})

row('A10', 'a seed is for exactly one persona (KS-35)', {}, async (t, scene) => {
  const others = [
    [],
    ['--personas', 'argus'],
    ['--persona', 'argus', '--persona', 'river'],
    ['--all-personas'],
  ]
  for (const flags of others) t.equal(await refused(scene, ['--seed-at', '5', ...flags]), 2, flags.join(' '))
  t.same(scene.asked(), [])
})

const DIRECTORIES = {
  '500': { status: 500 },
  'a redirect': { status: 302, headers: { location: '/api/personas?again' } },
  'no JSON': { text: 'down for maintenance' },
  'no list': { json: { result: {} } },
  'an empty list': { json: { result: [] } },
  'no usable name': { json: { result: [{ persona: '' }, { persona: 5 }, {}] } },
}

for (const [what, effect] of Object.entries(DIRECTORIES)) {
  row('A12', `a directory that answers ${what} is asked again (KS-51)`, {}, async (t, scene) => {
    scene.rule({ on: { endpoint: 'personas' }, effect: [effect, directory('argus')] })
    scene.newest(complete())
    scene.start(ALL)
    await scene.tells('armed(0)')
    t.ok(scene.asked({ endpoint: 'personas' }).length >= 2)
  })
}

row(
  'A12',
  'a directory that refuses the token ends a start that never armed anybody (KS-51)',
  {},
  async (t, scene) => {
    scene.rule({ on: { endpoint: 'personas' }, effect: { status: 401 } })
    t.equal(await refused(scene, ALL), 2)
  },
)

row('A13', 'a server that is not there yet is waited for (KS-51)', {}, async (t, scene) => {
  await scene.tell({ do: 'persona', persona: 'argus' })
  await scene.tell({ do: 'refuse' })
  const producer = scene.start(ALL)
  await scene.until('a log line', () => producer.stderr !== '')
  await scene.tell({ do: 'open' })
  await scene.tells('armed(0)')
  t.equal(producer.code, undefined)
})

row('A14', 'a refused connection is a failure of the inbox (KS-17, KS-49)', {}, async (t, scene) => {
  await scene.tell({ do: 'refuse' })
  const producer = scene.start([...NF, '--alert-after', '2'])
  await scene.tells('alert unreachable')
  t.match(scene.alert('unreachable'), { consecutive_failures: 2, reason: /^unreachable/ })
  t.same(scene.story(), ['alert unreachable'])
  t.equal(producer.code, undefined)
})

for (const [id, status] of [
  ['A15', 404],
  ['A16', 401],
] as const) {
  row(id, `${status} ends a start that never armed anybody (KS-51)`, {}, async (t, scene) => {
    scene.newest({ status })
    t.equal(await refused(scene, NF), 2)
    t.same(scene.story(), [])
  })

  row(
    id,
    `${status} is a failure where somebody was armed before (KS-51)`,
    { standing: { cursor: 5 } },
    async (t, scene) => {
      scene.newest({ status }, { status }, complete(5, 6))
      scene.start([...NF, '--alert-after', '2'])
      await scene.tells('new 6')
      t.same(scene.story(), ['alert unreachable', 'recovered', 'armed(5)', 'new 6'])
      t.match(scene.alert('unreachable'), { reason: new RegExp(`http ${status}`) })
    },
  )
}

row('A17', '403 is an ordinary failure from the first poll on (KS-51)', {}, async (t, scene) => {
  scene.newest({ status: 403 })
  scene.start([...NF, '--alert-after', '2'])
  await scene.tells('alert unreachable')
  t.match(scene.alert('unreachable'), { consecutive_failures: 2, reason: /http 403/ })
  await scene.polls(2)
  t.same(scene.story(), ['alert unreachable'])
})

row(
  'A18',
  'a second producer on the store ends with 75 and disturbs nothing (CL-5)',
  {},
  async (t, scene) => {
    scene.newest(complete(5), complete(5), complete(5, 6))
    const first = scene.start(NF)
    await scene.tells('armed(5)')
    const second = scene.start(NF)
    t.equal(await scene.endOf(second), 75)
    t.match(second.stderr, new RegExp(`\\b${first.child.pid}\\b`), 'the holder is named')
    await scene.tells('new 6')
    for (const path of ['run/lock', 'events/seg-00000001.jsonl']) {
      t.equal(statSync(join(scene.store, path)).mode & 0o777, 0o600, path)
    }
  },
)

row('A19', 'killed and started again it goes on where it was (KS-28)', {}, async (t, scene) => {
  scene.newest(complete(5))
  const first = scene.start(NF)
  await scene.tells('armed(5)')
  first.signal('SIGKILL')
  t.equal(await scene.endOf(first), 'SIGKILL')
  scene.start(NF)
  await scene.tells('armed(5)', 2)
  await scene.polls(1)
  t.same(scene.story(), ['baseline_skipped', 'armed(5)', 'armed(5)'])
  t.same(scene.silent(), [5])
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  row('A20', `${signal} ends it with 0 (CL-14)`, {}, async (t, scene) => {
    scene.newest(complete(5))
    const producer = scene.start(['--persona', 'argus', '--no-fast-path', '--poll-seconds', '600'])
    await scene.tells('armed(5)')
    producer.signal(signal)
    t.equal(await scene.endOf(producer), 0)
    t.equal(producer.stdout, '')
  })
}

row('A21', 'a held request does not keep it from ending (KS-8, CL-14)', {}, async (t, scene) => {
  scene.newest(complete(5))
  scene.pending({ hold_ms: 600_000 })
  const producer = scene.start(['--persona', 'argus', '--wait', '600', '--poll-seconds', '600'])
  await scene.tells('armed(5)')
  await scene.until('a held request', () => scene.asked({ endpoint: 'pending' }).length === 1)
  producer.signal('SIGTERM')
  t.equal(await scene.endOf(producer), 0)
  await scene.until('the request is let go', () => scene.asked({ endpoint: 'pending' })[0]?.wentAway === true)
})
