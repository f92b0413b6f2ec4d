// A wall clock that is set back.
import t from 'tap'
import { isSoak } from '../../kit/index.js'
import { readRecords, steppingClock, Trial } from '../../kit/kijito/index.js'

const HOUR_MS = 3_600_000
const STEPS = isSoak() ? 20 : 2

t.setTimeout(600_000)

for (const pace of [['--wait', '5'], ['--no-fast-path']]) {
  t.test(`clock - an hour back moves no schedule and loses nothing (${pace[0]}; KS-60)`, async t => {
    const trial = await Trial.open(t, {
      personas: ['argus', 'loom', 'river'],
      settings: { pageRows: 5 },
      flags: ['--poll-seconds', '1', ...pace],
      preload: steppingClock(HOUR_MS),
    })
    await trial.send('argus', 3)
    const producer = trial.start()
    await trial.met()
    for (let step = 0; step < STEPS; step++) {
      for (const persona of trial.personas) await trial.send(persona, 12)
      await trial.caughtUp()
      producer.signal('SIGUSR2')
      for (const persona of trial.personas) await trial.send(persona, 12)
      await trial.caughtUp()
    }
    await trial.judge()
    const records = readRecords(trial.store)
    const times = records.map(({ ts }) => Date.parse(ts ?? ''))
    const back = times.filter((time, n) => time < (times[n - 1] ?? 0) - HOUR_MS / 2).length
    t.equal(back, STEPS, 'each step shows in the times of the records')
    const mono = records.map(({ clock }) => Number(clock?.['mono_ms']))
    t.same(
      mono,
      mono.toSorted((a, b) => a - b),
      'the other clock went on',
    )
  })
}
