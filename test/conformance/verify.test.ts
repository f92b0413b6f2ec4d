import { verifyJournal } from '@kim/observer-sdk/verify'
import t from 'tap'
import { loadVectors } from './vectors.js'

const vectors = loadVectors()

t.test('verify - exits as every vector states (OB-65)', async t => {
  const seen = new Set<unknown>()
  for (const { name, eventsDir, expect } of vectors) {
    const { exit, findings } = await verifyJournal({ eventsDir })
    seen.add(exit)
    t.equal(exit, expect['verify_exit'], `${name}: ${Object.keys(findings).join(' ') || 'nothing found'}`)
  }
  t.same([...seen].sort(), [0, 4, 5, 6], 'every exit code was met')
})
