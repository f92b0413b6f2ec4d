import { join } from 'node:path'
import { statsJournal } from '@kim/observer-sdk/verify'
import t from 'tap'
import { vectorsDir } from './vectors.js'

/**
 * Two classes may treat a record alike, with a payload or without, so that no projection can tell which of them a
 * verb has. An operator can: `stats` counts records by class. Each verb stands twice in the vector of its class.
 */
const BY_CLASS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'class-entity-state': { 'entity-state': 18 },
  'class-tombstone': { 'entity-state': 3, tombstone: 3 },
  'class-journal-meta': { 'entity-state': 4, 'journal-meta': 8 },
  'class-observability': { 'entity-state': 5, observability: 10 },
  'class-registry-assignments': { 'registry-lifecycle': 24 },
  'class-registry-runs': { 'registry-lifecycle': 22 },
  'class-wildcards': { 'registry-lifecycle': 6 },
  'class-wildcard-overlap': { observability: 3, 'registry-lifecycle': 3 },
}

for (const [name, expected] of Object.entries(BY_CLASS)) {
  t.test(`JF-28 ${name} - every verb is counted under its own class`, async t => {
    const counted = await statsJournal({ eventsDir: join(vectorsDir, name, 'events') })
    t.same(counted.ok && counted.value.by_class, expected)
  })
}

t.test('JF-28 classes - the vectors hold each of the 42 verbs and both wildcards', async t => {
  const verbs = new Set<string>()
  for (const name of Object.keys(BY_CLASS)) {
    const counted = await statsJournal({ eventsDir: join(vectorsDir, name, 'events') })
    for (const verb of Object.keys(counted.ok ? counted.value.by_action : {})) verbs.add(verb)
  }
  const exact = [...verbs].filter(
    verb => !['assignment_paused', 'run_a_b', 'run_resumed', 'run_progressed'].includes(verb),
  )
  t.equal(exact.length, 42)
})
