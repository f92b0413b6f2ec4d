import { memoryCursors, type Observer, type ObserverOptions, openObserver } from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import t, { type Test } from 'tap'
import { type GrowingJournal, journalIn } from './growing-journal.js'

interface Scene {
  readonly journal: GrowingJournal
  readonly observer: Observer
  put(item_type: string, item_id: string, payload: Record<string, string>): void
}

async function scene(t: Test, options: Partial<ObserverOptions> = {}): Promise<Scene> {
  const journal = journalIn(t)
  const put = (item_type: string, item_id: string, payload: Record<string, string>): void =>
    journal.append(journal.line({ item_type, item_id, payload: { schema_version: 1, ...payload } }))
  for (const status of ['pending', 'pending', 'done']) put('state', `s${journal.seq}`, { status })
  put('assignment', 'a1', { status: 'blocked' })
  const observer = await openObserver({ eventsDir: journal.eventsDir, cursors: memoryCursors(), ...options })
  t.teardown(() => observer.close())
  return { journal, observer, put }
}

const genesis = ({ journal, observer }: Scene): Promise<void> => {
  journal.append(journal.note('registry_genesis', { mode: 'all', personas: [], missing: [] }))
  return observer.waitFor(journal.seq)
}

t.test('board - B1 before the registry genesis attention comes from the seed, marked (OB-37)', async t => {
  const seed = { counts: {}, attention: { action: 7, assignment: 2, task: 1, claim: 1 } }
  const all = await scene(t, { seed })
  t.match(all.observer.board(), { attentionRequired: 11, attentionDegraded: true })
  all.put('task', 't1', { status: 'open' })
  await all.observer.waitFor(all.journal.seq)
  t.equal(
    all.observer.board().attentionRequired,
    10,
    'a type that the journal covers is not taken from the seed',
  )
  await genesis(all)
  t.match(all.observer.board(), { attentionRequired: 3, attentionDegraded: false })
})

t.test('board - B2 a family has one source, its aliases included (OB-37)', async t => {
  const all = await scene(t, { seed: { counts: { action: 9 } } })
  t.same(all.observer.board().counts, {
    action: { count: 9, source: 'seed', degraded: true },
    assignment: { count: 1, source: 'journal', degraded: true },
  })
  await genesis(all)
  t.same(all.observer.board().counts, {
    assignment: { count: 1, source: 'journal', degraded: false },
    state: { count: 3, source: 'journal', degraded: false },
  })
})

t.test('board - B4 sections count entities by the rule of their type (OB-74)', async t => {
  const { journal, observer, put } = await scene(t)
  const itemsOf = (id: string): number | undefined =>
    observer.board().sections.find(section => section.id === id)?.items
  for (const status of ['active', 'active', 'released']) put('claim', `c${journal.seq}`, { status })
  for (const status of ['todo', 'in_progress', 'done', 'dropped']) put('plan', `p${journal.seq}`, { status })
  for (const status of ['running', 'failed', 'completed']) put('agent_run', `r${journal.seq}`, { status })
  put('constraint', 'k', {})
  await observer.waitFor(journal.seq)
  t.equal(itemsOf('agents'), 3, 'two claims that are active, one run that has not ended')
  t.equal(itemsOf('sprints'), 2, 'two plans')
  t.equal(itemsOf('traps'), 1, 'of a type without a rule each counts')
  t.equal(itemsOf('in-progress'), 6)
  t.equal(observer.board().counts['claim']?.count, 3, 'the number of entities is what it was')
  put('claim', 'c5', { status: 'released' })
  await observer.waitFor(journal.seq)
  t.equal(itemsOf('agents'), 2)
})

t.test('impact - B5 attentionChanged does not depend on the sections (OB-33)', async t => {
  const all = await scene(t)
  const { journal, observer, put } = all
  const changes = observer.changes()
  const next = async (): Promise<readonly unknown[]> => {
    const { value } = await changes.next()
    return [value?.sections, value?.attentionChanged]
  }
  const steps: [() => unknown, readonly string[], boolean][] = [
    [() => put('agent_run', 'r', { status: 'failed' }), ['agents', 'in-progress'], true],
    [() => put('persona', 'river', {}), ['roster'], true],
    [() => put('state', 's', { status: 'done' }), ['attention'], true],
    [
      () => put('plan', 'p', { status: 'todo' }),
      ['attention', 'backlog', 'in-progress', 'sprints', 'system'],
      false,
    ],
    [() => journal.append(journal.note('store_marker')), [], false],
  ]
  for (const [step, sections, isChanged] of steps) {
    const pull = next()
    step()
    t.same(await pull, [sections, isChanged])
  }
  const told = new Promise<boolean>(resolve => {
    observer.onInvalidate(({ attentionChanged }) => resolve(attentionChanged))
  })
  await genesis(all)
  t.equal(await told, true)
})

t.test('board - CO-5 a payload of a later schema version is kept, and counts by what it shows', async t => {
  const { journal, observer } = await scene(t)
  const payload = { schema_version: 7, persona: 'river', read: false, mood: { new: 'in version 7' } }
  const before = observer.digest()
  journal.append(journal.line({ item_id: 'river/1', payload }))
  await observer.waitFor(journal.seq)
  t.match(observer.state.get('message', 'river/1'), { entityRev: 1, payload })
  t.not(observer.digest(), before)
  t.equal(observer.persona('river').unread, 1)
})

t.test('persona - OB-39 lives by the evidence in records and its age, never by its word alone', async t => {
  const journal = journalIn(t)
  const written = Date.parse('2026-06-10T14:03:22.114Z')
  let now = written
  const options = { eventsDir: journal.eventsDir, cursors: memoryCursors() }
  const observer = await openObserverWith(options, { now: () => now })
  t.teardown(() => observer.close())
  const put = async (item_type: string, item_id: string, payload: Record<string, string>): Promise<void> => {
    journal.append(journal.line({ item_type, item_id, payload: { schema_version: 1, ...payload } }))
    await observer.waitFor(journal.seq)
  }
  t.match(observer.persona('river'), { liveness: 'unknown', evidence: undefined })
  await put('persona', 'river', { state: 'up' })
  const { seq } = journal
  now = written + 3_600_000
  t.match(observer.persona('river'), { liveness: 'up', evidence: { seq, ageMs: 3_600_000 } })
  now += 1
  t.match(observer.persona('river'), { liveness: 'stale', evidence: { seq, ageMs: 3_600_001 } })
  now = written
  await put('alert', 'river/unreachable', { kind: 'unreachable', status: 'open', persona: 'river' })
  t.match(observer.persona('river'), { liveness: 'down', evidence: { seq: journal.seq } })
  await put('alert', 'river/unreachable', { kind: 'unreachable', status: 'cleared', persona: 'river' })
  t.match(observer.persona('river'), { liveness: 'up', evidence: { seq: journal.seq, ageMs: 0 } })
})
