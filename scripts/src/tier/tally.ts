import { closingLine } from './result.js'
import { readStamp } from './stamp.js'

/** Adds what the named tiers really ran. A tier that left no counts fails: nothing may be missing from the sum unseen. */
export function tally(names: readonly string[]): number {
  const stamps = names.map(name => ({ name, stamp: readStamp(name) }))
  for (const { name, stamp } of stamps) {
    console.log(stamp === undefined ? `${name}: nothing ran` : `${name}: ${closingLine(stamp)}`)
  }
  const found = stamps.flatMap(({ stamp }) => (stamp === undefined ? [] : [stamp]))
  const total = (pick: 'passed' | 'failed' | 'skipped'): number =>
    found.reduce((all, stamp) => all + stamp[pick], 0)
  const counts = { passed: total('passed'), failed: total('failed'), skipped: total('skipped') }
  console.log(closingLine(counts))
  return found.length === names.length && counts.failed === 0 && counts.passed > 0 ? 0 : 1
}
