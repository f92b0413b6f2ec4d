import { gate } from './command.js'
import { nodeSuite, plainSuite } from './node-suite.js'
import { packSteps } from './pack.js'
import { testFiles } from './sources.js'
import type { TierStep } from './step.js'
import { type SuiteOptions, tapSuite } from './tap-suite.js'

const EXAMPLES = ['examples/tail-to-stdout', 'examples/extension-host', 'examples/kijito-sim']
const PACKAGES = ['manifest', 'cli-kit', 'observer-sdk', 'monitor', 'tail', 'replay', 'producer', ...EXAMPLES]

function suite(name: string, options: SuiteOptions = {}): TierStep {
  return { name, run: () => tapSuite(name, testFiles(`test/${name}`, '.test'), options) }
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
  run: () => nodeSuite(line, [...unitFiles(), ...testFiles('test/conformance', '.test')]),
}))

/** `npm test`. */
export const testSteps: readonly TierStep[] = [
  { name: 'lint', run: () => gate('format, rules, import direction', 'biome', ['ci', '--colors=off', '.']) },
  suite('tidy'),
  suite('types'),
  unit,
  conformance,
]

/** What `npm run check` adds. */
export const checkSteps: readonly TierStep[] = [
  { name: 'knip', run: () => gate('dead files, exports and dependencies', 'knip', ['--no-progress']) },
  ...packSteps,
  suite('kit'),
  suite('bites'),
  suite('fault'),
  suite('sim'),
  suite('fuzz'),
  suite('kills'),
  suite('bench'),
  // Its files wait for one another's processes far more than they compute.
  suite('e2e', { jobs: 5 }),
  ...nodeSteps.filter(({ name }) => name !== 'node-latest'),
]

/** `npm run soak`: the same suites, told to take their long form. */
export const soakSteps: readonly TierStep[] = ['fault', 'sim', 'fuzz', 'kills', 'e2e'].map(name =>
  suite(name, { env: { KIM_SOAK: '1' } }),
)
