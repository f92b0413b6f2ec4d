// A disk that is full for a while.
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { isSoak } from '../../kit/index.js'
import { fillableDisk, homeOf, Trial } from '../../kit/kijito/index.js'

/** How long the disk is full: a minute of it in the long form. */
const FULL_MS = isSoak() ? 60_000 : 3000
const PERSONAS = ['argus', 'loom', 'river']
const FLAGS = ['--poll-seconds', '1', '--wait', '5', '--max-replay', '1000', '--segment-bytes', '65536']

/** Whether this user may mount a file system. */
function mount(directory: string): boolean {
  mkdirSync(directory, { recursive: true })
  return spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', directory]).status === 0
}

/** Takes every byte that is left. */
function fill(path: string): void {
  const fd = openSync(path, 'a')
  try {
    for (const size of [65_536, 4096, 1]) {
      try {
        for (;;) writeSync(fd, Buffer.alloc(size))
      } catch {
        // Smaller ones may still fit.
      }
    }
  } finally {
    closeSync(fd)
  }
}

/** Mail comes in before, while and after there is no space; while there is none, the producer is killed too. */
async function story(t: Test, trial: Trial, full: () => void, free: () => void): Promise<void> {
  for (const persona of PERSONAS) await trial.send(persona, 3)
  const first = trial.start()
  await trial.met()
  for (const persona of PERSONAS) await trial.send(persona, 12)
  await trial.caughtUp()
  for (let turn = 0; turn < 2; turn++) {
    const isKilled = turn === 1
    const said = (): number => first.stderr.match(/"disk_full"/g)?.length ?? 0
    const before = said()
    full()
    for (const persona of PERSONAS) await trial.send(persona, 60)
    await trial.until('it is full', () => said() > before)
    if (isKilled) {
      first.signal('SIGKILL')
      await first.ended
      trial.start()
    }
    await sleep(FULL_MS)
    t.ok(trial.missing > 0, 'nothing is acknowledged that is not there')
    for (const persona of PERSONAS) await trial.send(persona, 3)
    free()
    await trial.caughtUp()
  }
  await trial.judge()
  t.match(first.stderr, /"disk_free"/)
  for (const { stderr } of trial.producers) {
    const said = stderr.match(/"disk_full"/g)?.length ?? 0
    t.ok(said <= 2, `a lasting condition is said once: ${said}`)
  }
}

t.setTimeout(600_000)

t.test('disk - it is full for a while: what comes meanwhile comes in afterwards (KS-66, JF-86)', async t => {
  const home = homeOf(t)
  const [store, flag] = [join(home, 'store'), join(home, 'full')]
  const preload = fillableDisk(store, flag)
  const trial = await Trial.open(t, {
    home,
    personas: PERSONAS,
    settings: { pageRows: 8 },
    flags: FLAGS,
    preload,
    store,
  })
  await story(
    t,
    trial,
    () => writeFileSync(flag, ''),
    () => rmSync(flag),
  )
})

t.test('disk - so is a real one', async t => {
  const home = homeOf(t)
  const directory = join(home, 'disk')
  if (!mount(directory)) {
    t.plan(0, 'not permitted to mount a file system')
    return
  }
  try {
    const store = join(directory, 'store')
    const filler = join(directory, 'filler')
    const trial = await Trial.open(t, {
      home,
      personas: PERSONAS,
      settings: { pageRows: 8 },
      flags: FLAGS,
      store,
    })
    await story(
      t,
      trial,
      () => fill(filler),
      () => rmSync(filler),
    )
  } finally {
    // Before the test's directory is removed with everything in it.
    spawnSync('umount', ['-l', directory])
  }
})
