import { type Input, type Io, safeText, usageError } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { report } from '../store-flags.js'
import { type Check, type CheckResult, Context } from './check.js'
import { deliveryChecks } from './delivery-checks.js'
import { clockCheck, machineChecks } from './machine-checks.js'
import { serverChecks } from './server-checks.js'
import { serviceChecks } from './service-checks.js'
import { storeChecks } from './store-checks.js'

/** Every check, in the order of the output. */
const CHECKS: readonly Check[] = [
  ...machineChecks,
  ...storeChecks,
  ...serverChecks,
  ...serviceChecks,
  ...deliveryChecks,
  clockCheck,
]

/** A check and what it found. */
interface Result extends CheckResult {
  readonly id: string
  readonly isFixed: boolean
}

/** Runs the checks and prints how to correct what they find. Changes nothing without `--fix`. */
export async function run(input: Input, io: Io): Promise<number> {
  const context = new Context(input, io)
  const results: Result[] = []
  try {
    for (const check of chosen(input)) results.push(await look(check, context, input.bool('fix')))
  } finally {
    await context.close()
  }
  const isWell = results.every(({ status, isFixed }) => status !== 'fail' || isFixed)
  const checks = results.map(({ id, status, evidence, remedy, isFixed }) => {
    return { id, status, evidence, remedy: remedy ?? null, fixed: isFixed }
  })
  report(input, io, { ok: isWell, checks }, lines(results))
  return isWell ? 0 : 1
}

function chosen(input: Input): readonly Check[] {
  const only = input.list('only')
  if (only.length === 0) return CHECKS
  const ids = CHECKS.map(({ id }) => id)
  const unknown = only.find(id => !ids.includes(id))
  if (unknown !== undefined)
    throw usageError(`there is no check "${unknown}"`, `the checks are: ${ids.join(', ')}`)
  return CHECKS.filter(({ id }) => only.includes(id))
}

/** Runs one check. A check that throws is reported, and the others still run. */
async function look({ id, look: find }: Check, context: Context, fix: boolean): Promise<Result> {
  try {
    const found = await find(context)
    const isFixed = fix && found.fix !== undefined
    if (isFixed) found.fix?.()
    return { ...found, id, isFixed }
  } catch (error) {
    const what = error instanceof KimError ? 'not checked' : 'the check failed'
    const evidence = error instanceof Error ? error.message : String(error)
    return { id, status: 'unknown', evidence: `${what}: ${evidence}`, isFixed: false }
  }
}

function lines(results: readonly Result[]): string[] {
  const width = Math.max(...results.map(({ id }) => id.length))
  return results.flatMap(({ id, status, evidence, remedy, isFixed }) => {
    const next = isFixed ? 'fixed' : remedy === undefined ? undefined : `→ ${remedy}`
    return [
      `${status.padEnd(7)}  ${id.padEnd(width)}  ${safeText(evidence)}`,
      ...(next === undefined ? [] : [`${' '.repeat(width + 11)}${next}`]),
    ]
  })
}
