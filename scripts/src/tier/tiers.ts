import { gate } from './command.js'
import { packSteps } from './pack.js'
import { testFiles } from './sources.js'
import type { TierStep } from './step.js'
import { type SuiteOptions, tapSuite } from './tap-suite.js'

const EXAMPLES = ['examples/tail-to-stdout', 'examples/extension-host', 'examples/kijito-sim']
const PACKAGES = ['manifest', 'cli-kit', 'observer-sdk', 'monitor', 'tail', 'replay', 'producer', ...EXAMPLES]

function suite(name: string, options: SuiteOptions = {}): TierStep {
  return { name, run: () => tapSuite(name, testFiles(`test/${name}`, '.test'), options) }
}

/** The packages' own tests. */
export const unit: TierStep = {
  name: 'unit',
  run: () =>
    tapSuite(
      'unit',
      PACKAGES.flatMap(name => testFiles(`${name}/test`, '.test')),
    ),
}

/** The vectors, judged by every implementation here. */
export const conformance: TierStep = suite('conformance')

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
]

/** `npm run soak`: the same suites, told to take their long form. */
export const soakSteps: readonly TierStep[] = ['fault', 'sim', 'fuzz', 'kills', 'e2e'].map(name =>
  suite(name, { env: { KIM_SOAK: '1' } }),
)
