import { runBench } from './tier/bench.js'
import { runCoverage } from './tier/coverage.js'
import { runOne } from './tier/one.js'
import { type Result, sum } from './tier/result.js'
import { close, runSteps } from './tier/run-steps.js'
import { readStamp, treeDigest, writeStamp } from './tier/stamp.js'
import type { TierStep } from './tier/step.js'
import { tally } from './tier/tally.js'
import { checkSteps, nodeSteps, soakSteps, testSteps } from './tier/tiers.js'

const [tier = '', ...args] = process.argv.slice(2)

switch (tier) {
  case 'test':
    process.exitCode = await runTier('test', ...testSteps)
    break
  case 'check':
    process.exitCode = await runCheck()
    break
  case 'node':
    process.exitCode = await runTier('node', only(nodeSteps, args))
    break
  case 'soak':
    process.exitCode = await runTier('soak', only(soakSteps, args))
    break
  case 'bench':
    process.exitCode = await runBench(args)
    break
  case 'one':
    process.exitCode = await runOne(args)
    break
  case 'coverage':
    process.exitCode = await runCoverage()
    break
  case 'tally':
    process.exitCode = tally(args)
    break
  default:
    console.error(
      `there is no tier "${tier}"; the tiers are: test, check, node, soak, bench, one, coverage, tally`,
    )
    process.exitCode = 2
}

async function runTier(name: string, ...lines: readonly (readonly TierStep[])[]): Promise<number> {
  const { ok, results } = await runSteps(name, ...lines)
  await keep(name, ok, results)
  return close(ok, results)
}

/** All of CI. What `npm test` has just passed on the same tree is not run again, and its counts are not counted twice. */
async function runCheck(): Promise<number> {
  const stamp = readStamp('test')
  const current = stamp !== undefined && stamp.tree === (await treeDigest())
  if (current) console.log(`ok   check/test: already passed on this exact tree (${stamp.passed} passed)`)
  const before = current ? { ok: true, results: [] } : await runSteps('test', ...testSteps)
  if (!current) await keep('test', before.ok, before.results)
  const own = await runSteps('check', ...checkSteps)
  await keep('check', own.ok, own.results)
  return close(before.ok && own.ok, [...before.results, ...own.results])
}

async function keep(name: string, ok: boolean, results: readonly Result[]): Promise<void> {
  const tree = await treeDigest()
  writeStamp(name, { tree: ok && tree !== undefined ? tree : 'not passed', ...sum(results) })
}

function only<T extends { readonly name: string }>(
  steps: readonly T[],
  names: readonly string[],
): readonly T[] {
  const unknown = names.filter(name => !steps.some(step => step.name === name))
  if (unknown.length > 0)
    throw new Error(
      `there is no suite "${unknown[0]}"; the suites are: ${steps.map(step => step.name).join(', ')}`,
    )
  return names.length === 0 ? steps : steps.filter(step => names.includes(step.name))
}
