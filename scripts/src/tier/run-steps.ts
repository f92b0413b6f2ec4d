import { closingLine, type Result, sum } from './result.js'
import type { TierStep } from './step.js'

/** Runs lines of steps side by side; goes on after a failure. */
export async function runSteps(
  tier: string,
  ...lines: readonly (readonly TierStep[])[]
): Promise<{ ok: boolean; results: Result[] }> {
  const results = (await Promise.all(lines.map(steps => runLine(tier, steps)))).flat()
  return { ok: results.every(result => result.ok), results }
}

/** Runs steps in order, prints a line when each begins and when it ends, shows the output of those that failed. */
async function runLine(tier: string, steps: readonly TierStep[]): Promise<Result[]> {
  const results: Result[] = []
  for (const step of steps) {
    console.log(`...  ${tier}/${step.name}`)
    const started = performance.now()
    const result = await attempt(step)
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    results.push(result)
    const counted = result.passed + result.failed + result.skipped > 0 ? closingLine(result) : 'clean'
    console.log(
      `${result.ok ? 'ok  ' : 'FAIL'} ${tier}/${step.name}: ${counted} (${result.note}, ${seconds} s)`,
    )
    if (!result.ok) console.log(result.output.replace(/^/gm, '     | '))
    for (const line of result.said) console.log(`       ${line}`)
  }
  return results
}

async function attempt(step: TierStep): Promise<Result> {
  try {
    return await step.run()
  } catch (error) {
    const output = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return { ok: false, passed: 0, failed: 1, skipped: 0, note: 'could not run', said: [], output }
  }
}

/** Prints what failed once more, where the end of a long log is all that is kept, and the closing line; returns the exit code. */
export function close(ok: boolean, results: readonly Result[]): number {
  for (const result of results.filter(({ ok }) => !ok)) {
    const names = result.output.split('\n').filter(line => /^\s*not ok /.test(line))
    for (const name of names.slice(0, 40)) console.log(`FAIL ${result.note}: ${name.trim()}`)
  }
  console.log(closingLine(sum(results)))
  return ok ? 0 : 1
}
