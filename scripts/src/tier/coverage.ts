import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PUBLISHED } from './pack.js'
import { root } from './root.js'
import { runSteps } from './run-steps.js'
import { conformance, unit } from './tiers.js'

interface ScriptCoverage {
  readonly url: string
  readonly functions: readonly {
    readonly ranges: readonly {
      readonly startOffset: number
      readonly endOffset: number
      readonly count: number
    }[]
  }[]
}

/**
 * Prints the lines of compiled code that the units and the conformance tests run, in percent, for each package. Each
 * process writes what it ran (V8 coverage); a line counts as run if any of them ran its first character.
 */
export async function runCoverage(): Promise<number> {
  const folder = join(root, '.kim-coverage')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  process.env['NODE_V8_COVERAGE'] = folder
  const { ok } = await runSteps('coverage', [unit, conformance])
  const ran = new Map<string, Uint8Array>()
  for (const file of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { result: ScriptCoverage[] }
    for (const script of result.filter(({ url }) => url.startsWith('file:'))) addRun(ran, script)
  }
  for (const name of PUBLISHED)
    console.log(`${name}: ${percentRun(join(root, name, 'dist'), ran)} % of lines`)
  rmSync(folder, { recursive: true, force: true })
  return ok ? 0 : 1
}

function addRun(ran: Map<string, Uint8Array>, { url, functions }: ScriptCoverage): void {
  const path = fileURLToPath(url)
  if (!PUBLISHED.some(name => path.startsWith(join(root, name, 'dist/')))) return
  const ranges = functions.flatMap(({ ranges }) => ranges)
  // An outer range comes before those inside it, which say more.
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  const counts = new Uint8Array(ranges[0]?.endOffset ?? 0)
  for (const { startOffset, endOffset, count } of ranges)
    counts.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  const before = ran.get(path)
  if (before !== undefined) for (const [at, count] of before.entries()) counts[at] ||= count
  ran.set(path, counts)
}

function percentRun(folder: string, ran: ReadonlyMap<string, Uint8Array>): string {
  let lines = 0
  let covered = 0
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(path =>
    path.endsWith('.js'),
  )) {
    const path = join(folder, name)
    const counts = ran.get(path)
    for (const { index, 0: line } of readFileSync(path, 'utf8').matchAll(/^.+$/gm)) {
      const code = line.search(/\S/)
      if (code < 0 || /^(\/\/|\/?\*)/.test(line.slice(code))) continue
      lines++
      if (counts?.[index + code] === 1) covered++
    }
  }
  return ((covered / lines) * 100).toFixed(1)
}
