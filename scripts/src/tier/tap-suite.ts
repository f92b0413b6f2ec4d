import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { capture } from './command.js'
import type { Result } from './result.js'
import { root } from './root.js'

const SUMMARY = /^# \{ total: (\d+), pass: (\d+)(?:, fail: (\d+))?(?:, todo: (\d+))?(?:, skip: (\d+))? \}$/m

/** How a suite is run, where that differs from the rest. */
export interface SuiteOptions {
  readonly env?: Readonly<Record<string, string>>
  /** How many files at a time; by default the test runner's own setting. */
  readonly jobs?: number
}

/** Runs compiled tap files. A file in which nothing ran fails the suite: an empty test proves nothing. */
export async function tapSuite(
  name: string,
  files: readonly string[],
  { env = {}, jobs }: SuiteOptions = {},
): Promise<Result> {
  if (files.length === 0) {
    return {
      ok: false,
      passed: 0,
      failed: 1,
      skipped: 0,
      note: 'no test files',
      said: [],
      output: `the suite "${name}" has no test files`,
    }
  }
  const { code, output } = await capture(
    'tap',
    ['--reporter=tap', ...(jobs === undefined ? [] : [`--jobs=${jobs}`]), ...files],
    env,
  )
  keepLog(name, output)
  const counts = SUMMARY.exec(output)
  const number = (index: number): number => Number(counts?.[index] ?? 0)
  const empty = [...output.matchAll(/^ok \d+ - (\S+\.js) # SKIP/gm)].map(match => match[1])
  const failed = number(3) + number(4) + empty.length
  const ok = code === 0 && counts !== null && failed === 0
  const problems = empty.map(file => `${file}: no test ran in this file\n`).join('')
  return {
    ok,
    passed: number(2),
    failed: ok ? 0 : Math.max(1, failed),
    skipped: number(5) - empty.length,
    note: `${files.length} files`,
    said: said(output),
    output: problems + failures(output),
  }
}

/** Comments that a test wrote on purpose, and the reasons of skips, each once: many tests of a suite print the same seed. */
export function said(output: string): string[] {
  const lines = output.split('\n')
  const comments = lines.filter(
    line => /^ {4,}# /.test(line) && !/^ *# (Subtest:|time=|\{ total|No coverage)/.test(line),
  )
  const skips = lines
    .filter(line => /^ {4,}ok \d+ .*# SKIP/.test(line))
    .map(line => line.replace(/^ *ok \d+ - /, 'skipped: '))
  return [...new Set([...comments.map(line => line.trim().slice(2)), ...skips])]
}

/** Each failed assertion with its diagnosis; the suites around it only by name. */
export function failures(output: string): string {
  const kept: string[] = []
  let depth: number | undefined
  for (const line of output.split('\n')) {
    const indent = line.length - line.trimStart().length
    if (depth !== undefined && (indent > depth || line.trim() === '')) {
      if (line.trim() !== '') kept.push(line)
      continue
    }
    depth = /^\s*not ok /.test(line) ? indent : undefined
    if (depth !== undefined) kept.push(line)
    if (kept.length > 300) break
  }
  return kept.length > 0 ? kept.join('\n') : output.split('\n').slice(-60).join('\n')
}

/** Keeps what a suite printed, whether it passed or not. */
export function keepLog(name: string, output: string): void {
  const folder = join(root, '.kim-results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.tap`), output)
}
