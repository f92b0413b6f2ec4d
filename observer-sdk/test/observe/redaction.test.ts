// Old lines that are rewritten while somebody follows, where no watch looks.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventsPaths, segmentName } from '@kim/manifest'
import { type Change, memoryCursors, type Observer, openTail, type RecordTail } from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import t, { type Test } from 'tap'
import { type GrowingJournal, journalIn } from './growing-journal.js'

/** Longer than any line that is no record here. */
const LONG = 'x'.repeat(100)
const SECRET = { payload: { schema_version: 1, secret: 'x', read: false } }

/** A journal whose first segment, with a secret in it, stands in the archive. */
function secretJournal(t: Test): { readonly journal: GrowingJournal; readonly rewrite: () => void } {
  const journal = journalIn(t)
  journal.append(journal.line({ item_id: 'river/a', ...SECRET }))
  journal.roll()
  journal.archive(1)
  const path = join(eventsPaths(journal.eventsDir).archive, segmentName(1))
  const rewrite = (): void => {
    writeFileSync(`${path}.tmp`, readFileSync(path, 'utf8').replace('"secret":"x"', '"redacted":true'))
    renameSync(`${path}.tmp`, path)
  }
  return { journal, rewrite }
}

async function observe(t: Test, { eventsDir }: GrowingJournal): Promise<Observer> {
  const pace = { slowMs: 25, fastMs: 25 }
  const observer = await openObserverWith({ eventsDir, cursors: memoryCursors() }, { pace })
  t.teardown(() => observer.close())
  return observer
}

const isRedacted = (observer: Observer): boolean =>
  observer.state.get('message', 'river/a')?.payload?.['redacted'] === true

async function ends(journal: GrowingJournal, observer: Observer): Promise<void> {
  journal.append(journal.note('checkpoint_ref'))
  await observer.waitFor(journal.seq)
  while (!isRedacted(observer)) await new Promise(resolve => setTimeout(resolve, 5))
}

t.test('redaction - JF-76 of lines in the archive, begun before the observer was opened', async t => {
  const { journal, rewrite } = secretJournal(t)
  journal.append(journal.note('redaction'))
  const observer = await observe(t, journal)
  t.notOk(isRedacted(observer))
  rewrite()
  await ends(journal, observer)
  t.pass('derived again at its end')
})

/** A journal whose first segment is still written to, and what rewrites its secret and parks it compressed. */
function growingIn(t: Test): { readonly journal: GrowingJournal; readonly park: (text?: string) => void } {
  const journal = journalIn(t)
  journal.append(journal.line({ item_id: 'river/a', payload: { schema_version: 1, secret: LONG } }))
  journal.grow(2)
  const path = join(journal.eventsDir, segmentName(1))
  const park = (text = `"secret":"${LONG}"`): void =>
    journal.archive(1, Buffer.from(readFileSync(path, 'utf8').replace(`"secret":"${LONG}"`, text)))
  return { journal, park }
}

/** The seqs that are handed over next, at least so many. */
async function take(t: Test, pulls: AsyncGenerator<Change, void>, count: number): Promise<readonly number[]> {
  const seqs: number[] = []
  while (seqs.length < count) {
    const { value } = await pulls.next()
    t.equal(value?.gap, undefined)
    seqs.push(...(value?.records ?? []).map(({ seq }) => seq))
  }
  return seqs
}

const tail = ({ eventsDir }: GrowingJournal): Promise<RecordTail> =>
  openTail({ eventsDir, cursors: memoryCursors(), from: 'start' })

for (const [how, text] of [
  ['as it was', undefined],
  ['shorter', '"redacted":true'],
  ['longer', `"redacted":"${LONG}${LONG}"`],
] as const) {
  t.test(
    `redaction - OB-17 OB-18 a place in a segment that is parked compressed, ${how}, is kept`,
    async t => {
      const { journal, park } = growingIn(t)
      const follower = await tail(journal)
      t.teardown(() => follower.close())
      const pulls = follower.changes()
      t.same(await take(t, pulls, 4), [1, 2, 3, 4])
      // The line before the place is no record, and what is held of the one after it is not the whole.
      journal.append('no record\n')
      journal.grow(2)
      journal.roll()
      park(text)
      t.same(await take(t, pulls, 3), [5, 6, 7])
      const pull = take(t, pulls, 1)
      journal.grow(1)
      t.same(await pull, [8])
    },
  )

  t.test(`redaction - OB-18 OB-54 one that is gone back to in a segment parked ${how}, is kept`, async t => {
    const { journal, park } = growingIn(t)
    const follower = await tail(journal)
    t.teardown(() => follower.close())
    const left = follower.changes()
    t.same(await take(t, left, 4), [1, 2, 3, 4])
    journal.grow(2)
    journal.roll()
    t.equal((await take(t, left, 1))[0], 5)
    await left.return()
    park(text)
    t.same((await take(t, follower.changes(), 2)).slice(0, 2), [5, 6])
  })
}

t.test(
  'redaction - OB-27 nothing is counted malformed for being read from where it no longer stands',
  async t => {
    const { journal, park } = growingIn(t)
    const observer = await observe(t, journal)
    journal.grow(2)
    journal.roll()
    park('"redacted":true')
    await observer.waitFor(journal.seq)
    while (!('redacted' in (observer.state.get('message', 'river/a')?.payload ?? {})))
      await new Promise(resolve => setTimeout(resolve, 5))
    t.match(observer.anomalies, { malformed: undefined, seq_hole: undefined })
  },
)
