// A file system that turns read-only under a running producer, as ext4 does after an error of the disk.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { homeOf, type ProducerProcess, Trial } from '../../kit/kijito/index.js'

const DISK_BYTES = 16 * 1024 * 1024
const MOUNT = ['-o', 'loop,errors=remount-ro']
/** Far more than the five seconds of the clause, on a machine with much to do. */
const END_MS_MAX = 60_000

const isDone = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0

/** Why a file system of one's own cannot be broken here; undefined where it can. */
function makeDisk(image: string, directory: string): string | undefined {
  mkdirSync(directory, { recursive: true })
  writeFileSync(image, '')
  truncateSync(image, DISK_BYTES)
  if (!isDone('mkfs.ext4', '-q', '-F', image)) return 'there is no mkfs.ext4'
  return isDone('mount', ...MOUNT, image, directory) ? undefined : 'not permitted to mount a file system'
}

/** How it ended, or that it lives on. */
async function endOf({ ended }: ProducerProcess): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>(resolve => {
    timer = setTimeout(() => resolve('it lives on'), END_MS_MAX)
  })
  const end = await Promise.race([ended, late])
  clearTimeout(timer)
  return end
}

function logOf({ stderr }: ProducerProcess): Record<string, unknown>[] {
  return stderr
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Record<string, unknown>)
}

t.setTimeout(600_000)

t.test(
  'broken disk - the producer ends with the true reason, and goes on once it is mended (CL-14, JF-86)',
  async t => {
    const home = homeOf(t)
    const [image, directory] = [join(home, 'image'), join(home, 'disk')]
    const why = makeDisk(image, directory)
    if (why !== undefined) {
      t.plan(0, why)
      return
    }
    try {
      const lines = join(home, 'lines')
      const trial = await Trial.open(t, {
        home,
        personas: ['argus', 'river'],
        flags: [
          '--poll-seconds',
          '1',
          '--wait',
          '5',
          '--events-file-template',
          join(lines, '{persona}.ndjson'),
        ],
        store: join(directory, 'store'),
      })
      await trial.send('argus')
      const first = trial.start()
      await trial.met()
      await trial.send('argus', 2)
      await trial.caughtUp()
      t.ok(isDone('mount', '-o', 'remount,abort', directory), 'it is read-only now')
      await trial.send('argus', 2)
      await trial.send('river')
      t.equal(await endOf(first), 1)
      const said = logOf(first)
      const last = said.at(-1)
      t.match(last, { level: 'fatal', code: 'store_failed', msg: /seg-\d+\.jsonl: (EROFS|EIO)$/ })
      const socket = said.find(({ code }) => code === 'shutdown_step_failed')
      t.match(
        socket,
        { level: 'warn', msg: /control socket: EROFS/ },
        'a later fault is reported before, as a warning',
      )
      t.ok(Date.parse(String(last?.['time'])) - Date.parse(String(socket?.['time'])) < 5000)
      t.ok(isDone('umount', directory), 'nothing holds it any more')
      t.ok(isDone('mount', ...MOUNT, image, directory))
      trial.start()
      await trial.caughtUp()
      await trial.judge()
      t.ok(existsSync(join(lines, 'argus.ndjson')))
    } finally {
      // Before the test's directory is removed with everything in it.
      isDone('umount', '-l', directory)
    }
  },
)
