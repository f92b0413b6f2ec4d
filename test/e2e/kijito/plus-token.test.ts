// A token that is changed while mail flows.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isSoak } from '../../kit/index.js'
import { homeOf, Trial } from '../../kit/kijito/index.js'

const ROTATIONS = isSoak() ? 30 : 4

t.setTimeout(600_000)

t.test('token - it is rotated again and again, nothing is lost and it shows nowhere (KS-84)', async t => {
  const home = homeOf(t)
  const file = join(home, 'token')
  const token = (n: number): string => `secret-number-${n}`
  const rotate = (n: number): void => writeFileSync(file, `${token(n)}\n`, { mode: 0o600 })
  const trial = await Trial.open(t, {
    home,
    personas: ['argus', 'loom', 'river'],
    settings: { pageRows: 5, token: token(0) },
    flags: [
      '--poll-seconds',
      '1',
      '--wait',
      '5',
      '--alert-after',
      '2',
      '--max-replay',
      '1000',
      '--token-file',
      file,
    ],
    env: {},
  })
  rotate(0)
  const producer = trial.start()
  await trial.met()
  for (let n = 1; n <= ROTATIONS; n++) {
    for (const persona of trial.personas) await trial.send(persona, 3)
    // The file comes before the server, with a word to the producer; or after it, without one.
    if (n % 2 === 0) {
      rotate(n)
      producer.signal('SIGHUP')
    }
    await trial.simulator.tell({ do: 'set', settings: { token: token(n) } })
    for (const persona of trial.personas) await trial.send(persona, 12)
    if (n % 2 === 1) {
      const refused = trial.told('alert', 'unreachable')
      await trial.until('a refusal', () => trial.told('alert', 'unreachable') > refused)
      rotate(n)
    }
    await trial.caughtUp()
  }
  await trial.judge()
  const files = readdirSync(trial.store, { recursive: true, withFileTypes: true }).filter(entry =>
    entry.isFile(),
  )
  const texts = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
  for (const text of [producer.stderr, producer.stdout, ...texts]) t.notMatch(text, /secret-number/)
})
