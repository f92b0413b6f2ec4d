import { ALL, complete, NF, page, row, type Scene } from '../../kit/kijito/index.js'

const legacy = {
  next_before_id: undefined,
  truncated: undefined,
  size_dropped: undefined,
  size_truncated: undefined,
}
const local = page([5], { ...legacy, unread_not_shown: undefined })

/** How a start with this address ends. */
async function ends(scene: Scene, url: string, ...flags: string[]): Promise<number | string> {
  return scene.endOf(scene.start([...NF, '--url', url, '--dialect', 'local', ...flags], {}))
}

row(
  'N1',
  'the local dialect needs no token, and sends none (KS-1)',
  { settings: { dialect: 'local' } },
  async (t, scene) => {
    scene.newest(local)
    scene.start([...NF, '--dialect', 'local'], {})
    await scene.tells('armed(5)')
    for (const { headers } of scene.asked()) t.notOk('authorization' in headers)
  },
)

row(
  'N2',
  'loopback, private and odd addresses are refused without their flag (KS-81)',
  {},
  async (t, scene) => {
    const { port } = new URL(scene.url)
    const hosts = [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '0.0.0.0',
      '10.0.0.1',
      '169.254.1.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
    ]
    for (const host of hosts) t.equal(await ends(scene, `http://${host}:${port}`), 2, host)
    t.equal(
      await ends(scene, `http://0.0.0.0:${port}`, '--allow-loopback', '--allow-private'),
      2,
      'unspecified',
    )
    t.same(scene.asked(), [])
  },
)

row(
  'N3',
  'a base URL has no query, and every request leaves mail unread (KS-3, KS-80)',
  {},
  async (t, scene) => {
    t.equal(await ends(scene, `${scene.url}/api/inbox?persona=argus&mark_read=true`, '--allow-loopback'), 2)
    t.same(scene.asked(), [])
    scene.newest(complete(5))
    scene.start(NF)
    await scene.tells('armed(5)')
    for (const { query } of scene.asked()) t.equal(query['mark_read'], 'false')
  },
)

row('N4', 'what allows private addresses does not allow loopback (KS-81)', {}, async (t, scene) => {
  t.equal(await ends(scene, scene.url, '--allow-private'), 2)
  t.same(scene.asked(), [])
})

row(
  'N5',
  'a redirect on the first poll is a failure, and is not followed (KS-5, KS-51)',
  {},
  async (t, scene) => {
    scene.newest({ status: 302, headers: { location: '/elsewhere' } })
    const producer = scene.start([...NF, '--alert-after', '2'])
    await scene.tells('alert unreachable')
    t.match(scene.alert('unreachable'), { reason: /^redirect/ })
    t.equal(producer.code, undefined)
    t.same(scene.asked({ endpoint: 'other' }), [])
  },
)

row('N6', 'so is one on a later poll (KS-5)', {}, async (t, scene) => {
  scene.newest(complete(5), { status: 302, headers: { location: '/elsewhere' } })
  scene.start([...NF, '--alert-after', '1'])
  await scene.tells('alert unreachable')
  t.match(scene.alert('unreachable'), { reason: /^redirect/ })
  t.same(scene.asked({ endpoint: 'other' }), [])
})

row('N7', 'only a base URL will do, with or without personas by name (KS-80)', {}, async (t, scene) => {
  const { port } = new URL(scene.url)
  const urls = [
    'file:///etc/hosts',
    `ftp://127.0.0.1:${port}`,
    `${scene.url}/api`,
    `${scene.url}/#top`,
    `http://river:pass@127.0.0.1:${port}`,
    'nowhere',
  ]
  for (const url of urls) t.equal(await ends(scene, url, '--allow-loopback'), 2, url)
  t.same(scene.asked(), [])
  await scene.tell({ do: 'persona', persona: 'argus' })
  scene.start(ALL)
  await scene.tells('armed(0)')
})
