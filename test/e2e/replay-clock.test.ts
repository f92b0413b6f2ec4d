import { join } from 'node:path'
import { openJournal } from '@kim/producer/internal'
import t from 'tap'
import { mail } from '../kit/drafts.js'
import { SimClock } from '../kit/index.js'
import { replay } from './replay-store.js'

const HOUR = 3_600_000
const storeDir = join(t.testdir(), 'store')
const events = join(storeDir, 'events')

t.before(() => {
  const clock = new SimClock(Date.UTC(2026, 5, 10, 14))
  const journal = openJournal({ storeDir, source: 'http://localhost:7474', clock })
  for (let id = 1; id <= 4; id++) {
    clock.advance(HOUR / 2)
    if (id === 3) clock.jumpWall(-2 * HOUR)
    journal.append([mail('river', id)])
  }
  journal.close()
})

t.test(
  'CL-69 at, diff - say where the state holds what is later than the time that was asked for, and else nothing',
  async t => {
    // Records 2 and 3 are of 14:30 and 15:00, records 4 and 5 of 13:30 and 14:00.
    const twice = replay(['at', '--time', '2026-06-10T14:10:00Z', '--events', events])
    t.match(twice.out, /^at seq 5,/)
    t.match(
      twice.err,
      /also includes later records, such as seq 2 of 2026-06-10T14:30:00\.000Z: the clock was set back before seq 5, the last record up to 2026-06-10T14:10:00Z\n.*--seq N/,
    )
    t.match(
      replay(['at', '--time', '2026-06-10T14:10:00Z', '--json', '--events', events]).err,
      /^kim-replay: this state also includes later records/,
    )
    const diff = replay([
      'diff',
      '--from',
      '2026-06-10T13:40:00Z',
      '--to',
      '2026-06-10T15:00:00Z',
      '--events',
      events,
    ])
    t.equal(diff.code, 0)
    t.match(diff.err, /^kim-replay: .* such as seq 2 of .*: .* before seq 4, .* up to 2026-06-10T13:40:00Z\n/)
    t.notMatch(diff.err, /up to \S*15:00:00Z\n/)
    for (const moment of [
      ['--time', '2026-06-10T15:00:00Z'],
      ['--seq', '3'],
    ])
      t.equal(replay(['at', ...moment, '--events', events]).err, '')
  },
)
