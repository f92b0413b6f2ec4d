import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { wakeClassOf } from '@kim/manifest'
import { type Change, coldStart, type Observer, openObserver } from '@kim/observer-sdk'
import { fullScan } from '@kim/replay/internal'
import t from 'tap'
import { coldMembers, differencesOf, pick } from '../conformance/compare.js'
import { readNaively } from '../conformance/naive/naive-reader.js'
import { loadRules } from '../conformance/naive/rules.js'
import { repositoryRoot } from '../conformance/vectors.js'
import { fastTmpdir, isSoak, Prng, seedsToRun } from '../kit/index.js'
import { writeRandomJournal } from './random-journal.js'

const rules = loadRules(join(repositoryRoot, 'manifest'))
const seeds = seedsToRun(isSoak() ? 5_000 : 500)
const root = mkdtempSync(join(fastTmpdir(), 'kim-fuzz-'))
t.teardown(() => rmSync(root, { recursive: true, force: true }))

t.test('random journals - full scan, cold start and observer find what the naive reader finds', async t => {
  const seen = { gap: 0, checkpoint: 0, incomplete: 0, malformed: 0, tx: 0, rewound: 0, blob: 0 }
  for (const seed of seeds) {
    const eventsDir = join(root, 'events')
    const cursor = writeRandomJournal(new Prng(seed), eventsDir, rules)
    const expected = { ...readNaively(eventsDir, cursor, rules) } as Record<string, unknown>
    const { result: cold } = await coldStart(eventsDir, cursor)
    const { verify_exit: _, ...full } = await fullScan(eventsDir, cursor)
    const differences = [
      ...differencesOf(pick(expected, coldMembers), { ...cold }).map(each => ({ mode: 'cold', ...each })),
      ...differencesOf(expected, { ...full }).map(each => ({ mode: 'full', ...each })),
      ...(await observed(eventsDir, cursor, expected)),
    ]
    if (differences.length > 0) {
      t.same(differences, [], `KIM_SEED=${seed}`)
      t.comment(`replay with KIM_SEED=${seed}`)
      return
    }
    const { gap, cursor: reached, anomalies, status } = full
    if (gap !== null) seen.gap += 1
    if (gap?.reason === 'rewound') seen.rewound += 1
    if (reached.checkpoint_seq > 0) seen.checkpoint += 1
    if (status.kind === 'incomplete') seen.incomplete += 1
    if ((anomalies.malformed ?? 0) > 0) seen.malformed += 1
    if ((anomalies.tx_incomplete ?? 0) > 0) seen.tx += 1
    if ((anomalies.blob_missing ?? 0) > 0) seen.blob += 1
  }
  t.comment(`${seeds.length} journals from seed ${seeds[0]}: ${JSON.stringify(seen)}`)
  if (seeds.length > 100) for (const [kind, times] of Object.entries(seen)) t.ok(times > 0, `${kind} was met`)
  t.pass(`${seeds.length} journals`)
})

/** What an observer shows, and what it hands over to a consumer with this cursor. */
async function observed(
  eventsDir: string,
  cursor: unknown,
  expected: Record<string, unknown>,
): Promise<object[]> {
  const cursors = { load: () => cursor, save: () => {} }
  const observer = await openObserver({ eventsDir, cursors })
  const idle = new Promise<undefined>(resolve => {
    observer.onIdle(() => resolve(undefined))
  })
  try {
    const handed = cursor === undefined ? [] : await handedOver(observer, idle)
    const digest = observer.digest()
    const shown = {
      digest,
      entities: observer.state.size,
      head_seq: observer.head.seq,
      attention_required: observer.board().attentionRequired,
      registry_authoritative: observer.board().registryAuthoritative,
      gap: handed[0]?.gap ?? null,
      news: handed.flatMap(({ news }) =>
        news.map(({ seq, event = '' }) => ({ seq, wake: wakeClassOf(event) })),
      ),
    }
    return differencesOf(pick(expected, Object.keys(shown)), shown).map(each => ({
      mode: 'observer',
      ...each,
    }))
  } finally {
    await observer.close()
  }
}

/** All changes that are at hand: once a pull waits, nothing more is. */
async function handedOver(observer: Observer, idle: Promise<undefined>): Promise<Change[]> {
  const changes: Change[] = []
  const pulls = observer.changes()
  for (;;) {
    const next = await Promise.race([pulls.next(), idle])
    if (next === undefined || next.done === true) return changes
    changes.push(next.value)
  }
}
