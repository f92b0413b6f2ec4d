import { dirname } from 'node:path'
import { capture } from './command.js'
import type { Result } from './result.js'
import { failures, keepLog, said } from './tap-output.js'

/** What a test file says of itself in the end. */
const SUMMARY = /^# \{ total: (\d+), pass: (\d+)(?:, fail: (\d+))?(?:, todo: (\d+))?(?:, skip: (\d+))? \}$/m

/** A test may take so long: what runs beside it takes the cores for most of that time. */
const TEST_TIMEOUT_S = 1200
/** A file that does not end by itself in that time is ended. */
const FILE_TIMEOUT_S = 2 * TEST_TIMEOUT_S

/** How a suite is run, where that differs from the rest. */
export interface SuiteOptions {
  readonly env?: Readonly<Record<string, string>>
  /** How many files at a time. Most wait for processes and timers, so by default there are more than cores. */
  readonly jobs?: number
  /** Lets the files of other suites go first. */
  readonly yields?: boolean
  readonly node?: string
  /** True if a file may skip all its tests: what they look at may be missing on this machine. */
  readonly mayOnlySkip?: boolean
  /** How long a file may take, in seconds. */
  readonly fileTimeoutS?: number
}

/**
 * Runs compiled tap files, each as a program: without the hooks and source maps of tap's runner, which take more than a
 * third of the time. A file in which nothing ran fails the suite: an empty test proves nothing.
 */
export async function plainSuite(
  name: string,
  files: readonly string[],
  {
    env = {},
    jobs = 4,
    yields = false,
    node = process.execPath,
    fileTimeoutS = FILE_TIMEOUT_S,
    mayOnlySkip = false,
  }: SuiteOptions = {},
): Promise<Result> {
  const path = `${dirname(node)}:${process.env['PATH'] ?? ''}`
  const options = {
    env: { PATH: path, TAP_TIMEOUT: String(TEST_TIMEOUT_S), ...env },
    yields,
    timeoutMs: fileTimeoutS * 1000,
  }
  const sum = { passed: 0, failed: 0, skipped: 0 }
  const outputs: string[] = []
  const queue = files.values()
  const work = async (): Promise<void> => {
    for (const file of queue) {
      const { code, output } = await capture(node, ['--import=./test/plain-children.mjs', file], options)
      const [, total, pass, fail, todo, skip] = SUMMARY.exec(output)?.map(Number) ?? []
      const ok = code === 0 && total !== undefined && total > (mayOnlySkip ? 0 : skip || 0) && !todo
      sum.passed += pass || 0
      sum.failed += ok ? 0 : Math.max(1, (fail || 0) + (todo || 0))
      sum.skipped += skip || 0
      const why = ok ? '' : `not ok - ${file}, exit ${code}, ${total ?? 'no'} tests\n`
      outputs.push(`# ${file}\n${output.replace(/^(?=.)/gm, '    ')}${why}`)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  const output = outputs.join('')
  keepLog(name, output)
  const ok = files.length > 0 && sum.failed === 0
  return { ok, ...sum, note: `${files.length} files`, said: said(output), output: failures(output) }
}

/** The same on another Node than the one that built the tree: `22`, `latest`. npx gets it. */
export async function nodeSuite(
  line: string,
  files: readonly string[],
  options: SuiteOptions,
): Promise<Result> {
  const npx = ['--yes', `--package=node@${line}`, '-c', 'command -v node && node --version']
  const found = await capture('npx', npx)
  const [, node, version] = /^(\/.*)\n(v\d+\S*)$/m.exec(found.output) ?? []
  if (node === undefined || version === undefined || (line !== 'latest' && !version.startsWith(`v${line}.`)))
    throw new Error(`npx found no Node ${line}: ${found.output}`)
  const result = await plainSuite(`node-${line}`, files, { ...options, node })
  return { ...result, note: `Node ${version}, ${result.note}` }
}
