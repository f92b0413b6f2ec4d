import { type Input, type Io, safeText } from '@kim/cli-kit'
import type { RunLog } from '../../run/run-log.js'
import { openSource } from '../../source/open-source.js'
import { report } from '../report.js'
import { sinkPlans } from '../run/open-sinks.js'
import { runOptions } from '../run/options.js'
import { sinkOptions } from '../run/sink-options.js'
import { version } from '../version.js'
import { tryInboxes } from './inboxes.js'
import { tryJournal } from './journal.js'
import type { SelfTestResult } from './self-test-result.js'
import { trySinks } from './sinks.js'

/** One look at each inbox, one append, one wake-up, one heartbeat: the whole way once, leaving nothing behind (KS-86). */
export async function run(input: Input, io: Io): Promise<number> {
  const { core, server, storeDir } = runOptions(input, io)
  const source = await openSource({ ...server, version, env: io.env })
  const outcomes: SelfTestResult[] = []
  const tell = (outcome: SelfTestResult): void => {
    outcomes.push(outcome)
    if (!input.bool('json')) io.stdout.write(line(outcome))
  }
  try {
    for await (const outcome of tryInboxes(source, core.personas, io.signal)) tell(outcome)
    for (const outcome of await tryJournal(source.base)) tell(outcome)
    // What is printed on stdout needs no test: whoever reads this sees it.
    const options = sinkOptions(input, io, storeDir)
    const plans = sinkPlans({ ...options, printsEvents: false }, storeDir, logTo(io), io)
    for await (const outcome of trySinks(plans, core.personas?.[0] ?? 'self-test', io.signal)) tell(outcome)
  } finally {
    source.close()
  }
  const isWell = outcomes.every(({ ok }) => ok)
  if (input.bool('json')) report(input, io, { ok: isWell, results: outcomes }, [])
  return isWell ? 0 : 1
}

function line({ part, name, ok, detail, ms, warning, hint }: SelfTestResult): string {
  const word = !ok ? 'fail' : warning === undefined ? 'ok  ' : 'warn'
  const said = warning === undefined ? detail : `${detail}; ${warning}`
  const next = hint === undefined ? '' : `      ${safeText(hint)}\n`
  return `${word}  ${part.padEnd(7)}  ${safeText(name)}: ${safeText(said)} (${ms.toFixed(1)} ms)\n${next}`
}

function logTo(io: Io): RunLog {
  return ({ message, fields: { output } = {} }) => {
    const text = typeof output === 'string' ? `${message}: ${output.trimEnd()}` : message
    io.stderr.write(`${safeText(text)}\n`)
  }
}
