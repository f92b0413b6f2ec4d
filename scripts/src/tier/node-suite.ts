import { dirname } from 'node:path'
import { capture } from './command.js'
import type { Result } from './result.js'
import { failures, keepLog, said } from './tap-suite.js'

/** What a test file says of itself in the end. */
const SUMMARY = /^# \{ total: (\d+), pass: (\d+)(?:, fail: (\d+))?(?:, todo: (\d+))?(?:, skip: (\d+))? \}$/m

/** Test files wait for processes and timers, so more of them run at a time than there are cores. */
const JOBS = 4

/**
 * Runs compiled tap files, each as a program: without the hooks and source maps of tap's runner, which take more than a
 * third of the time. A file in which nothing ran fails the suite: an empty test proves nothing.
 */
export async function plainSuite(
  name: string,
  files: readonly string[],
  node: string = process.execPath,
): Promise<Result> {
  const env = { PATH: `${dirname(node)}:${process.env['PATH'] ?? ''}`, TAP_TIMEOUT: '600' }
  const sum = { passed: 0, failed: 0, skipped: 0 }
  const outputs: string[] = []
  const queue = files.values()
  const work = async (): Promise<void> => {
    for (const file of queue) {
      const { code, output } = await capture(node, ['--import=./test/plain-children.mjs', file], env)
      const [, total, pass, fail, todo, skip] = SUMMARY.exec(output)?.map(Number) ?? []
      const ok = code === 0 && total !== undefined && total > (skip || 0)
      sum.passed += pass || 0
      sum.failed += ok ? 0 : Math.max(1, (fail || 0) + (todo || 0))
      sum.skipped += skip || 0
      const why = ok ? '' : `not ok - ${file}, exit ${code}, ${total ?? 'no'} tests\n`
      outputs.push(`# ${file}\n${output.replace(/^(?=.)/gm, '    ')}${why}`)
    }
  }
  await Promise.all(Array.from({ length: JOBS }, work))
  const output = outputs.join('')
  keepLog(name, output)
  const ok = files.length > 0 && sum.failed === 0
  return { ok, ...sum, note: `${files.length} files`, said: said(output), output: failures(output) }
}

/** The same on another Node than the one that built the tree: `22`, `latest`. npx gets it. */
export async function nodeSuite(line: string, files: readonly string[]): Promise<Result> {
  const npx = ['--yes', `--package=node@${line}`, '-c', 'command -v node && node --version']
  const found = await capture('npx', npx)
  const [, node, version] = /^(\/.*)\n(v\d+\S*)$/m.exec(found.output) ?? []
  if (node === undefined || version === undefined || (line !== 'latest' && !version.startsWith(`v${line}.`)))
    throw new Error(`npx found no Node ${line}: ${found.output}`)
  const result = await plainSuite(`node-${line}`, files, node)
  return { ...result, note: `Node ${version}, ${result.note}` }
}
