import { type Verdict, verifyJournal } from '@kim/observer-sdk'
import t from 'tap'
import { loadVectors } from './vectors.js'

const vectors = loadVectors()

/** What another judge of the same bytes needs to see of a verdict. */
const shown = ({ findings }: Verdict): string =>
  Object.entries(findings)
    .map(([kind, { count, examples }]) => `${kind} ${count}: ${examples[0]?.detail}`)
    .join('; ')

t.test('verify - ends every vector as it states (OB-62)', async t => {
  for (const { name, eventsDir, expect } of vectors) {
    const verdict = await verifyJournal({ eventsDir })
    t.equal(verdict.exit, expect['verify_exit'], `${name}: ${shown(verdict)}`)
  }
  t.comment(`${vectors.length} vectors`)
  t.ok(vectors.length >= 70, 'there are enough of them')
})

t.test('verify - comes to head and digest of every vector by its own fold', async t => {
  for (const { name, eventsDir, expect } of vectors) {
    const verdict = await verifyJournal({ eventsDir })
    if (verdict.digest === undefined) continue
    t.equal(verdict.digest, expect['digest'], `${name}: digest`)
    t.equal(verdict.head_seq, expect['head_seq'], `${name}: head`)
  }
})
