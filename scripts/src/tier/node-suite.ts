import { dirname } from 'node:path'
import { capture } from './command.js'
import type { Result } from './result.js'
import { failures, keepLog, said } from './tap-suite.js'

/** What a test file says of itself in the end. */
const SUMMARY = /^# \{ total: (\d+), pass: (\d+)(?:, fail: (\d+))?(?:, todo: (\d+))?(?:, skip: (\d+))? \}$/m

/** Test files wait for processes and timers, so more of them run at a time than there are cores. */
const JOBS = 4

/**
 * Runs compiled tap files on another Node than the one that built the tree: `22`, `latest`. npx gets it. Each file runs
 * as a program, without the hooks and source maps of tap's runner, which take more than a third of the time.
 */
export async function nodeSuite(line: string, files: readonly string[]): Promise<Result> {
  const npx = ['--yes', `--package=node@${line}`, '-c', 'command -v node && node --version']
  const found = await capture('npx', npx)
  const [, node, version] = /^(\/.*)\n(v\d+\S*)$/m.exec(found.output) ?? []
  if (node === undefined || version === undefined || (line !== 'latest' && !version.startsWith(`v${line}.`)))
    throw new Error(`npx found no Node ${line}: ${found.output}`)
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
  keepLog(`node-${line}`, output)
  const note = `Node ${version}, ${files.length} files`
  return { ok: sum.failed === 0, ...sum, note, said: said(output), output: failures(output) }
}
