import { gate } from './command.js'
import { packSteps } from './pack.js'
import { testFiles } from './sources.js'
import type { TierStep } from './step.js'
import { nodeSuite, plainSuite, type SuiteOptions } from './suite.js'

const EXAMPLES = ['examples/tail-to-stdout', 'examples/extension-host', 'examples/kijito-sim']
const PACKAGES = ['manifest', 'cli-kit', 'observer-sdk', 'monitor', 'tail', 'replay', 'producer', ...EXAMPLES]

function suite(name: string, options: SuiteOptions = {}): TierStep {
  return {
    name,
    run: () => plainSuite(name, testFiles(`test/${name}`, '.test'), { mayOnlySkip: true, ...options }),
  }
}

function unitFiles(): string[] {
  return PACKAGES.flatMap(name => testFiles(`${name}/test`, '.test'))
}

/** The packages' own tests. */
export const unit: TierStep = { name: 'unit', run: () => plainSuite('unit', unitFiles()) }

/** The vectors, judged by every implementation here. */
export const conformance: TierStep = {
  name: 'conformance',
  run: () => plainSuite('conformance', testFiles('test/conformance', '.test')),
}

/**
 * Units and conformance on the other supported lines of Node, and on the newest, which `.ci/run` adds. The end-to-end tests stay out: their list
 * of allowed system calls is that of Node 20.
 */
export const nodeSteps: readonly TierStep[] = ['22', '24', 'latest'].map(line => ({
  name: `node-${line}`,
  run: () => nodeSuite(line, [...unitFiles(), ...testFiles('test/conformance', '.test')], { yields: true }),
}))

/** `npm test`: the suites of one line run in order, beside those of the other. */
export const testSteps: readonly (readonly TierStep[])[] = [
  [
    {
      name: 'lint',
      run: () => gate('format, rules, import direction', 'biome', ['ci', '--colors=off', '.']),
    },
    suite('tidy'),
    suite('types'),
  ],
  [unit, conformance],
]

/** Of the suites that only compute, so many files at a time, whenever the tests that wait leave a core free. */
const computes: SuiteOptions = { jobs: 2, yields: true }

/** What `npm run check` adds: the suites that wait for processes, beside those that compute. */
export const checkSteps: readonly (readonly TierStep[])[] = [
  [
    { name: 'knip', run: () => gate('dead files, exports and dependencies', 'knip', ['--no-progress']) },
    ...packSteps,
    suite('kit'),
    suite('e2e', { jobs: 5 }),
    suite('kills'),
    suite('bench'),
  ],
  [
    suite('fault', computes),
    suite('bites', computes),
    suite('sim', computes),
    suite('fuzz', computes),
    ...nodeSteps.filter(({ name }) => name !== 'node-latest'),
  ],
]

/** `npm run soak`: the same suites, told to take their long form. */
export const soakSteps: readonly TierStep[] = ['fault', 'sim', 'fuzz', 'kills', 'e2e'].map(name =>
  suite(name, { env: { KIM_SOAK: '1' }, jobs: 2, fileTimeoutS: 12 * 3600 }),
)
