import type { Tx } from '@kim/manifest'

import t from 'tap'
import { TxTracker } from '../dist/record-fate.js'

/** Feeds steps such as `a1/3` (tx a, 1 of 3), `-` (no tx), `!` (malformed tx) or `#` (no record at all). */
function walk(steps: string): { dropped: string; released: string; pending: string } {
  const tracker = new TxTracker<string>()
  const dropped: string[] = []
  const released: string[] = []
  for (const step of steps.split(' ')) {
    if (step === '#') {
      dropped.push(...tracker.interrupt())
      continue
    }
    const [, id = '', i, n, writer] = /^(\w+?)(\d+)\/(\d+)(?:@(\w+))?$/.exec(step) ?? []
    const tx: Tx | 'malformed' | undefined =
      step[0] === '-' ? undefined : step[0] === '!' ? 'malformed' : { id, i: Number(i), n: Number(n) }
    const verdict = tracker.record({ tx, writer }, step)
    dropped.push(...verdict.dropped)
    released.push(...verdict.released)
  }
  return { dropped: dropped.join(' '), released: released.join(' '), pending: tracker.pending.join(' ') }
}

t.test('transactions - are released whole or dropped, JF-40 JF-41 JF-42', async t => {
  const cases: [string, string, string, string, string][] = [
    ['one record alone', 'a1/1', 'a1/1', '', ''],
    ['all in order', 'a1/3 a2/3 a3/3', 'a1/3 a2/3 a3/3', '', ''],
    ['among others', '- a1/2 a2/2 -', '- a1/2 a2/2 -', '', ''],
    ['one after another', 'a1/2 a2/2 b1/2 b2/2', 'a1/2 a2/2 b1/2 b2/2', '', ''],
    ['still open at the end', '- a1/3 a2/3', '-', '', 'a1/3 a2/3'],
    ['broken by a plain record', 'a1/2 - a2/2', '-', 'a1/2 a2/2', ''],
    ['broken by a line that is no record', 'a1/2 # a2/2', '', 'a1/2 a2/2', ''],
    ['broken by a malformed tx', 'a1/2 ! a2/2', '', 'a1/2 ! a2/2', ''],
    ['broken by another that begins', 'a1/2 b1/1', 'b1/1', 'a1/2', ''],
    ['begins again', 'a1/2 a1/2 a2/2', 'a1/2 a2/2', 'a1/2', ''],
    ['begins in the middle', 'a2/2 -', '-', 'a2/2', ''],
    ['out of order', 'a1/3 a3/3 a2/3', '', 'a1/3 a3/3 a2/3', ''],
    ['doubled record', 'a1/3 a2/3 a2/3 a3/3', '', 'a1/3 a2/3 a2/3 a3/3', ''],
    ['another n', 'a1/2 a2/3 a3/3', '', 'a1/2 a2/3 a3/3', ''],
    ['another id', 'a1/2 b2/2', '', 'a1/2 b2/2', ''],
    ['another writer', 'a1/2@x a2/2@y', '', 'a1/2@x a2/2@y', ''],
    ['one writer', 'a1/2@x a2/2@x', 'a1/2@x a2/2@x', '', ''],
    ['more than n', 'a1/2 a2/2 a3/2', 'a1/2 a2/2', 'a3/2', ''],
    ['malformed alone', '!', '', '!', ''],
    ['nothing to break', '# - #', '-', '', ''],
  ]
  for (const [what, steps, released, dropped, pending] of cases) {
    t.same(walk(steps), { released, dropped, pending }, what)
  }
})
