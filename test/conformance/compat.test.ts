import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { coldStart, fileCursors, openObserver } from '@kim/observer-sdk'
import { verifyJournal } from '@kim/observer-sdk/verify'
import { fullScan } from '@kim/replay/internal'
import t from 'tap'
import { coldMembers, differencesOf, pick } from './compare.js'
import { readNaively } from './naive/naive-reader.js'
import { loadRules } from './naive/rules.js'
import { loadReleases, repositoryRoot } from './vectors.js'

const releases = loadReleases()
const rules = loadRules(join(repositoryRoot, 'manifest'))
const cursorOf = (folder: string): unknown => JSON.parse(readFileSync(join(folder, 'cursor.json'), 'utf8'))

t.test('releases - CO-14 a store of a release has what later versions must read', async t => {
  t.ok(releases.length > 0)
  for (const { name, folder, eventsDir } of releases) {
    const archive = readdirSync(join(eventsDir, 'archive'))
    t.ok(
      archive.some(file => file.endsWith('.jsonl')),
      `${name}: an archived segment`,
    )
    t.ok(
      archive.some(file => file.endsWith('.jsonl.gz')),
      `${name}: a packed segment`,
    )
    t.ok(readdirSync(join(eventsDir, 'checkpoints')).length >= 2, `${name}: two checkpoints`)
    t.ok(readdirSync(join(eventsDir, 'blobs')).length > 0, `${name}: a blob`)
    t.ok(readdirSync(join(folder, 'state/kim/clients')).length >= 3, `${name}: the state of its clients`)
  }
})

t.test('releases - CO-8 every reader comes to what expect.json says', async t => {
  for (const { name, folder, eventsDir, expect } of releases) {
    const cursor = cursorOf(folder)
    t.same(differencesOf(expect, { ...(await fullScan(eventsDir, cursor)) }), [], `${name}: full scan`)
    const { result: cold } = await coldStart(eventsDir, cursor)
    t.same(differencesOf(pick(expect, coldMembers), { ...cold }), [], `${name}: cold start`)
    const { verify_exit, ...stated } = expect
    t.same(differencesOf(stated, { ...readNaively(eventsDir, cursor, rules) }), [], `${name}: naive reader`)
    const verdict = await verifyJournal({ eventsDir })
    t.equal(verify_exit, 0)
    t.equal(verdict.exit, 0, `${name}: ${JSON.stringify(verdict.findings)}`)
  }
})

t.test('releases - CO-14 an SDK client goes on from its stored cursor', async t => {
  for (const { name, folder, eventsDir, expect } of releases) {
    const directory = join(t.testdir(), 'status-bar')
    cpSync(join(folder, 'state/kim/clients/status-bar'), directory, { recursive: true })
    const observer = await openObserver({ eventsDir, cursors: fileCursors(directory) })
    t.equal(observer.digest(), expect['digest'], `${name}: digest`)
    t.equal(observer.head.seq, expect['head_seq'], `${name}: head`)
    t.equal(observer.state.size, expect['entities'], `${name}: entities`)
    const announced: number[] = []
    const handedOver: number[] = []
    for await (const { news, records, gap, cursor } of observer.changes()) {
      t.equal(gap, undefined, `${name}: no gap`)
      announced.push(...news.map(({ seq }) => seq))
      handedOver.push(...records.map(({ seq }) => seq))
      if (cursor.seq === observer.head.seq) break
    }
    await observer.close()
    t.same(
      announced,
      (expect['news'] as { seq: number }[]).map(({ seq }) => seq),
      `${name}: news`,
    )
    t.equal(handedOver[0], (cursorOf(folder) as { seq: number }).seq + 1, `${name}: the first record`)
  }
})
