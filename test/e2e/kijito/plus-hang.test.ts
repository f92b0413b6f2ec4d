// Inboxes that never answer: more of them than are polled at a time.
import t from 'tap'
import { Trial } from '../../kit/kijito/index.js'

const HANGING = Array.from({ length: 10 }, (_, n) => `anvil-${n}`)
const ANSWERING = ['argus', 'loom', 'river', 'tern']

t.setTimeout(600_000)

t.test('hang - ten inboxes that hang for ever delay no other (KS-59)', async t => {
  const trial = await Trial.open(t, {
    personas: [...HANGING, ...ANSWERING],
    flags: ['--poll-seconds', '1', '--wait', '5', '--alert-after', '1', '--max-replay', '1000'],
  })
  for (const persona of HANGING) {
    const on = { endpoint: 'inbox', persona }
    await trial.simulator.tell({ do: 'rule', name: 'hang', on, effect: { wire: { kind: 'hang' } } })
  }
  const first = trial.start()
  await trial.met()
  for (let n = 0; n < 20; n++) {
    for (const persona of ANSWERING) await trial.send(persona, 2)
    await trial.caughtUp()
    if (n === 10) {
      first.signal('SIGKILL')
      await first.ended
      trial.start()
    }
  }
  await trial.until('all of them are announced', () => trial.told('alert', 'unreachable') >= HANGING.length)
  t.equal(
    trial.told('alert', 'unreachable'),
    HANGING.length,
    'each of them is announced once, over both lives',
  )
  t.equal(trial.told('recovered', 'unreachable'), 0, 'all of that while they hung')
  for (const persona of HANGING) await trial.send(persona, 2)
  await trial.simulator.tell({ do: 'drop_rules', name: 'hang' })
  await trial.judge()
  t.equal(trial.told('recovered', 'unreachable'), HANGING.length, 'and each of them is back')
})
