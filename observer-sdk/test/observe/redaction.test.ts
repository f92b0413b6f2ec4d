// Old lines that are rewritten while somebody follows, where no watch looks.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventsPaths, segmentName } from '@kim/manifest'
import { memoryCursors, type Observer } from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import t, { type Test } from 'tap'
import { GrowingJournal } from './growing-journal.js'

const SECRET = { payload: { schema_version: 1, secret: 'x', read: false } }

/** A journal whose first segment, with a secret in it, stands in the archive. */
function journalIn(t: Test): { readonly journal: GrowingJournal; readonly rewrite: () => void } {
  const journal = new GrowingJournal(join(t.testdir({}), 'events'))
  t.teardown(() => journal.close())
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
  const { journal, rewrite } = journalIn(t)
  journal.append(journal.note('redaction'))
  const observer = await observe(t, journal)
  t.notOk(isRedacted(observer))
  rewrite()
  await ends(journal, observer)
  t.pass('derived anew at its end')
})
