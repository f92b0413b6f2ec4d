import { homedir } from 'node:os'
import { type Input, type Io, safeText, usageError } from '@kim/cli-kit'
import { KimError, storePaths } from '@kim/manifest'
import { servicePlace, systemRunner, targetOf } from '../../os-service/supervisors.js'
import { report } from '../report.js'
import { runOptions } from '../run/options.js'
import { runWords } from '../service/run-args.js'
import { askedFlags } from './asked-flags.js'
import type { Check, CheckResult } from './check.js'
import { CHECKS } from './checks.js'
import { Context } from './context.js'

/** A check and what it saw. */
interface Result extends CheckResult {
  readonly check: Check
  readonly isFixed: boolean
}

/** Looks at everything that is known to go wrong and names what mends it. Changes nothing without `--fix`. */
export async function run(input: Input, io: Io): Promise<number> {
  const service = installed(io, input.text('name'))
  const asked = askedFlags(input, io, service)
  const options = runOptions(asked, io)
  const context = new Context({
    options,
    given: runWords(asked),
    paths: storePaths(runOptions(input, io).storeDir),
    env: io.env,
    run: systemRunner,
    service,
    isServiceNamed: input.given('name'),
    signal: io.signal,
  })
  const results: Result[] = []
  try {
    for (const check of chosen(input)) results.push(await look(check, context, input.bool('fix')))
  } finally {
    await context.close()
  }
  const isWell = results.every(({ status, isFixed }) => status !== 'fail' || isFixed)
  report(input, io, { ok: isWell, checks: results.map(facts) }, lines(results))
  return isWell ? 0 : 1
}

function chosen(input: Input): readonly Check[] {
  const only = input.list('only')
  if (only.length === 0) return CHECKS
  const unknown = only.find(id => !CHECKS.some(check => check.id === id))
  if (unknown !== undefined) {
    throw usageError(
      `there is no check "${unknown}"`,
      `the checks are: ${CHECKS.map(({ id }) => id).join(', ')}`,
    )
  }
  return CHECKS.filter(({ id }) => only.includes(id))
}

function installed(io: Io, name: string | undefined): Context['service'] {
  try {
    return servicePlace(targetOf(process.platform), name, io.env, homedir())
  } catch (error) {
    if (error instanceof KimError) return undefined
    throw error
  }
}

/** One check; one that fails itself says so and keeps nobody from looking on. */
async function look(check: Check, context: Context, fix: boolean): Promise<Result> {
  try {
    const found = await check.look(context)
    if (!fix || found.fix === undefined) return { ...found, check, isFixed: false }
    found.fix()
    return { ...found, check, isFixed: true }
  } catch (error) {
    const evidence = error instanceof Error ? error.message : String(error)
    return { check, status: 'unknown', evidence: `the check failed: ${evidence}`, isFixed: false }
  }
}

function facts({ check, status, evidence, remedy, isFixed }: Result): Readonly<Record<string, unknown>> {
  return { id: check.id, status, evidence, remedy: remedy ?? null, fixed: isFixed }
}

function lines(results: readonly Result[]): string[] {
  const width = Math.max(...results.map(({ check }) => check.id.length))
  return results.flatMap(({ check, status, evidence, remedy, isFixed }) => [
    `${status.padEnd(7)}  ${check.id.padEnd(width)}  ${safeText(evidence)}`,
    ...(isFixed
      ? [`${' '.repeat(width + 11)}fixed`]
      : remedy === undefined
        ? []
        : [`${' '.repeat(width + 11)}→ ${remedy}`]),
  ])
}
