import { KimError } from '@kim/manifest'
import type { Journal } from '@kim/producer/internal'
import { type Call, type Fault, Scratch, SimDeath, Site, type SiteOptions } from '../kit/index.js'
import { type Inspect, Judge } from './judge.js'

/** One thing a writer does, every call of which is to fail. */
export interface Scenario {
  readonly name: string
  readonly options?: SiteOptions
  /** Makes the machine as it is before; what it opened it has closed, or killed. */
  prepare(site: Site): void
  /** The thing itself; an open gets no journal. */
  act(site: Site, journal: Journal | undefined): void
  readonly opens?: boolean
  readonly inspect?: Inspect
}

/** What an enumeration went through, and what it found. */
export interface Tally {
  readonly scenario: string
  /** Calls of the file system the thing makes. */
  readonly calls: number
  /** Faults that were injected, each in a run of its own. */
  readonly runs: number
  /** Ways the machine can go on after them. */
  readonly cases: number
  /** Disks among those that differ from each other. */
  readonly disks: number
  readonly violations: readonly string[]
}

const errors = ['EIO', 'ENOSPC', 'EDQUOT', 'EROFS'] as const

/** Every way in which this call can go wrong. */
function* faultsOf(call: Call): Generator<Fault> {
  yield { kind: 'die', when: 'before' }
  yield { kind: 'die', when: 'after' }
  for (const code of errors) yield { kind: 'error', code }
  yield { kind: 'error', code: 'EIO', after: true }
  if (call.name === 'write') {
    for (const bytes of new Set([0, 1, Math.floor(call.bytes / 2), call.bytes - 1])) {
      if (bytes < call.bytes) yield { kind: 'short', bytes }
    }
  }
  if (call.name === 'read' && call.bytes > 1) {
    yield { kind: 'short', bytes: 1 }
    yield { kind: 'short', bytes: Math.floor(call.bytes / 2) }
  }
}

/** Fails every call of a scenario once in every way, and judges every disk that can be left. */
export async function enumerate(scenario: Scenario, violationsMax = 20): Promise<Tally> {
  const base = new Site(scenario.options)
  scenario.prepare(base)
  const calls = callsOf(scenario, base.fork(base.fs.restart()))
  const scratch = new Scratch()
  const judge = new Judge(scratch, scenario.inspect)
  const violations: string[] = []
  let runs = 0
  let cases = 0
  try {
    for (const call of calls) {
      for (const fault of faultsOf(call)) {
        if (violations.length >= violationsMax) break
        runs++
        const where = `${describe(fault)} at call ${call.n} of ${calls.length}, ${call.name} ${call.path}`
        const report = (violation: string): number =>
          violations.push(`${scenario.name}: ${where}: ${violation}`)
        cases += await run(scenario, base.fork(base.fs.restart()), call, fault, judge, report)
      }
    }
  } finally {
    scratch.remove()
  }
  return { scenario: scenario.name, calls: calls.length, runs, cases, disks: judge.disks, violations }
}

/** The calls the thing makes when nothing goes wrong, counted from its own first one. */
function callsOf(scenario: Scenario, site: Site): Call[] {
  const journal = scenario.opens === true ? undefined : site.open()
  const before = site.fs.calls
  const log: Call[] = []
  site.fs.log = log
  scenario.act(site, journal)
  return log.map(call => ({ ...call, n: call.n - before }))
}

/** One run with one fault, judged in every way it can go on; returns how many those are. */
async function run(
  scenario: Scenario,
  site: Site,
  call: Call,
  fault: Fault,
  judge: Judge,
  report: (violation: string) => void,
): Promise<number> {
  const { fs } = site
  const journal = scenario.opens === true ? undefined : site.open()
  fs.failAt(fs.calls + call.n, fault)
  // What the journal shows while a call is under way, somebody may have seen.
  if (journal !== undefined) fs.failWhen(() => site.promises.see(journal.head))
  const attempt = (what: string, act: () => void): boolean => {
    try {
      act()
      return true
    } catch (error) {
      const objection = objectionTo(error)
      if (objection !== undefined) report(`${what}${objection}`)
      return false
    }
  }
  attempt('', () => scenario.act(site, journal))
  for (const misuse of fs.misuse) report(misuse)
  let cases = await judge.judge(site, fs.restart(), report)
  if (fs.dead || journal === undefined) return cases
  // The process may as well go on; what it promises then counts too.
  for (let n = 0; n < 3; n++) {
    site.clock.advance(31_000)
    const goOn = (): void => {
      site.append(journal, [site.draft()])
      journal.roll()
      site.append(journal, [site.draft()])
    }
    if (attempt('going on: ', goOn)) break
  }
  cases += await judge.judge(site, fs.restart(), violation => report(`going on: ${violation}`))
  return cases
}

/** What is wrong with an error as an answer to a fault; nothing with a typed one that helps. */
function objectionTo(error: unknown): string | undefined {
  if (error instanceof SimDeath) return undefined
  if (!(error instanceof KimError))
    return `no typed error: ${error instanceof Error ? error.stack : String(error)}`
  return error.hint === '' || error.code === 'internal'
    ? `${error.code} helps no caller: ${error.message}`
    : undefined
}

function describe(fault: Fault): string {
  if (fault.kind === 'die') return `death ${fault.when}`
  if (fault.kind === 'short') return `${fault.bytes} bytes only`
  return fault.after === true ? `${fault.code} although done` : fault.code
}
