import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './root.js'

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
