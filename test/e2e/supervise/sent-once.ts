import type { Test } from 'tap'
import { readRecords } from '../../kit/kijito/index.js'

/** Each message that was sent stands in the journal once, and no two processes wrote by turns. Gives the writers, one after another. */
export function sentOnce(t: Test, storeDir: string, sent: readonly number[]): readonly unknown[] {
  const records = readRecords(storeDir)
  const created = records.filter(({ item_type, action }) => item_type === 'message' && action === 'create')
  t.same(
    created.map(({ payload }) => payload?.['id']),
    sent,
    'each message stands in the journal once, in order',
  )
  const writers = records.map(({ writer }) => writer)
  const runs = writers.filter((writer, at) => writer !== writers[at - 1])
  t.equal(runs.length, new Set(runs).size, 'no two processes ever wrote by turns')
  return runs
}
