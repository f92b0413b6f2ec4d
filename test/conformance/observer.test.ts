import { readFileSync } from 'node:fs'
import { type Change, coldStart, memoryCursors, type Observer, openObserver } from '@kim/observer-sdk'
import { fullScan } from '@kim/replay/internal'
import t from 'tap'
import { coldMembers, differencesOf, pick } from './compare.js'
import { loadVectors, type VectorOnDisk } from './vectors.js'

const vectors = loadVectors()

const cursorOf = ({ cursorFile }: VectorOnDisk): unknown =>
  cursorFile === undefined ? undefined : JSON.parse(readFileSync(cursorFile, 'utf8'))

t.test('full scan - finds what every vector states (OB-61, OB-62)', async t => {
  for (const vector of vectors) {
    const result = await fullScan(vector.eventsDir, cursorOf(vector))
    t.same(differencesOf(vector.expect, { ...result }), [], vector.name)
  }
  t.comment(`${vectors.length} vectors`)
  t.ok(vectors.length >= 70, 'there are enough of them')
})

t.test('cold start - finds what a forward reader finds (OB-10, OB-11)', async t => {
  for (const vector of vectors) {
    const { result } = await coldStart(vector.eventsDir, cursorOf(vector))
    t.same(differencesOf(pick(vector.expect, coldMembers), { ...result }), [], vector.name)
  }
})

/** What is handed over until nothing more is at hand. */
async function handedOver(observer: Observer, head: number): Promise<Change[]> {
  const changes: Change[] = []
  const pulls = observer.changes()
  let last = -1
  for (;;) {
    const settled = new Promise<'nothing'>(resolve => setTimeout(resolve, 20, 'nothing'))
    const pull = pulls.next()
    const next = await Promise.race([pull, last >= head ? settled : pull])
    if (next === 'nothing' || next.done === true) break
    changes.push(next.value)
    last = next.value.cursor.seq
  }
  await observer.close()
  return changes
}

/** The status that OB-62 states: what one reader cannot read is no part of it. */
function kindOf({ kind, reasons = [] }: { kind: string; reasons?: readonly string[] }): string {
  return kind === 'degraded' && reasons.every(reason => reason === 'unreadable') ? 'live' : kind
}

t.test(
  'observer - opens on what every vector states and hands over what follows its cursor (OB-44 to OB-48)',
  async t => {
    for (const vector of vectors) {
      const cursors = memoryCursors()
      const cursor = cursorOf(vector)
      const shared = { load: () => cursor ?? undefined, save: cursors.save }
      const observer = await openObserver({ eventsDir: vector.eventsDir, cursors: shared })
      const { expect, name } = vector
      const digest = observer.digest()
      t.same(
        {
          cursor: { checkpoint_seq: observer.checkpointSeq, ...observer.head },
          digest,
          entities: observer.state.size,
          head_seq: observer.head.seq,
          registry_authoritative: observer.board().registryAuthoritative,
        },
        {
          cursor: expect['cursor'],
          digest: expect['digest'],
          entities: expect['entities'],
          head_seq: expect['head_seq'],
          registry_authoritative: expect['registry_authoritative'],
        },
        `${name}: state`,
      )
      t.equal(kindOf(observer.status), (expect['status'] as { kind: string }).kind, `${name}: status`)
      t.equal(observer.board().attentionRequired, expect['attention_required'], `${name}: attention`)
      const head = (expect['news'] as unknown[]).length > 0 || expect['gap'] !== null ? observer.head.seq : -1
      const changes = await handedOver(observer, head)
      t.same(
        changes.flatMap(({ news }) => news.map(({ seq }) => seq)),
        (expect['news'] as { seq: number }[]).map(({ seq }) => seq),
        `${name}: news`,
      )
      t.same(changes.find(({ gap }) => gap !== undefined)?.gap ?? null, expect['gap'], `${name}: gap`)
      const last = changes.at(-1)
      if (last !== undefined) t.same(last.cursor, expect['cursor'], `${name}: cursor after the hand-over`)
    }
  },
)
