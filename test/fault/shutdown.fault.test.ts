// Each call of the file system that a producer makes while it ends fails once, alone and with all later ones.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  complete,
  type FailingCalls,
  failingCalls,
  homeOf,
  NF,
  type ProducerProcess,
  Scene,
} from '../kit/kijito/index.js'

/** Ends at a time: most of an end is waiting for a process to begin. */
const AT_A_TIME = 3
/** Far more than the five seconds of the clause, on a machine with much to do. */
const END_MS_MAX = 60_000
/** Of an end whose every call fails, so many were seen at least: fewer, and the faults miss it. */
const CALLS_MIN = 10

/** How one end went. */
interface End {
  readonly code: unknown
  readonly calls: number
  readonly log: readonly Record<string, unknown>[]
  readonly stderr: string
}

/** Brings a producer to its end; the calls that `faults` names fail meanwhile. */
async function endOf(t: Test, faults: Pick<FailingCalls, 'since' | 'at' | 'lasts'>): Promise<End> {
  const home = homeOf(t)
  const flag = join(home, 'broken')
  const out = join(home, 'lines')
  mkdirSync(out, { mode: 0o700 })
  const scene = await Scene.open(home)
  try {
    scene.stand({ cursor: 4 })
    scene.newest(complete(4, 5))
    const sink = ['--events-file-template', join(out, '{persona}.ndjson')]
    const preload = failingCalls({ directory: home, flag, ...faults })
    const producer = scene.start([...NF, ...sink], { KIM_TOKEN: 'tok' }, preload)
    await scene.tells('new 5')
    if (faults.since === 'SIGTERM') producer.signal('SIGTERM')
    else {
      writeFileSync(flag, '')
      scene.newest(complete(4, 5, 6))
    }
    const code = await settled(producer)
    const { stderr } = producer
    return { code, calls: Number(/^calls (\d+)$/m.exec(stderr)?.[1]), log: logOf(stderr), stderr }
  } finally {
    await scene.close()
    rmSync(home, { recursive: true, force: true })
  }
}

async function settled({ ended }: ProducerProcess): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>(resolve => {
    timer = setTimeout(() => resolve('it lives on'), END_MS_MAX)
  })
  const end = await Promise.race([ended, late])
  clearTimeout(timer)
  return end
}

function logOf(stderr: string): Record<string, unknown>[] {
  return stderr
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Record<string, unknown>)
}

/** What is wrong with how a clean stop met its faults. */
function wrongWithStop({ code, log }: End): string | undefined {
  const last = log.at(-1)
  if (code === 0) return last?.['code'] === 'stopped' ? undefined : 'it ended with 0, and not of its own will'
  if (code !== 1) return `it ended with ${code}`
  const isSaid = last?.['level'] === 'fatal' && /EIO/.test(String(last['msg']))
  return isSaid ? undefined : `its last line is ${JSON.stringify(last)}`
}

/** What is wrong with how an end by a fault met more of them. */
function wrongWithFault({ code, log }: End): string | undefined {
  if (code !== 1) return `it ended with ${code}`
  const last = log.at(-1)
  const isFirst = last?.['level'] === 'fatal' && /seg-\d+\.jsonl durable: EIO$/.test(String(last['msg']))
  return isFirst ? undefined : `its last line is ${JSON.stringify(last)}`
}

async function enumerate(
  t: Test,
  since: FailingCalls['since'],
  lasts: boolean,
  wrongWith: (end: End) => string | undefined,
): Promise<void> {
  const whole = await endOf(t, { since, at: 0, lasts: false })
  t.equal(wrongWith(whole), undefined, 'without a further fault')
  t.ok(whole.calls >= CALLS_MIN, `${whole.calls} calls`)
  const wrong: string[] = []
  const codes: Record<string, number> = {}
  let at = 0
  const worker = async (): Promise<void> => {
    while (at < whole.calls) {
      const own = ++at
      const end = await endOf(t, { since, at: own, lasts })
      codes[String(end.code)] = (codes[String(end.code)] ?? 0) + 1
      const why = wrongWith(end)
      if (why !== undefined) wrong.push(`call ${own}: ${why}\n${end.stderr}`)
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, worker))
  t.same(wrong, [])
  t.comment(`${whole.calls} calls; exits: ${JSON.stringify(codes)}`)
}

t.setTimeout(1_200_000)

t.test('shutdown - CL-14 a clean stop ends whichever call fails, and names the fault', t =>
  enumerate(t, 'SIGTERM', false, wrongWithStop),
)

t.test('shutdown - CL-14 so does one on a disk that fails from there on', t =>
  enumerate(t, 'SIGTERM', true, wrongWithStop),
)

t.test('shutdown - CL-14 JF-86 an end by a fault names that fault, whatever fails later', t =>
  enumerate(t, 'sync', true, wrongWithFault),
)
