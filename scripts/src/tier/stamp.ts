import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { capture } from './command.js'
import { root } from './root.js'

/** What a tier passed on which tree, so that a larger tier need not repeat it. */
export interface Stamp {
  readonly tree: string
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** A digest of every file git tracks or would track, and of the Node that runs; undefined outside a checkout. */
export async function treeDigest(): Promise<string | undefined> {
  const { code, output } = await capture('git', [
    'ls-files',
    '-z',
    '--cached',
    '--others',
    '--exclude-standard',
  ])
  if (code !== 0) return undefined
  const hash = createHash('sha256').update(process.version)
  for (const file of output.split('\0').filter(Boolean).sort()) {
    hash.update(file).update('\0')
    try {
      hash.update(readFileSync(join(root, file)))
    } catch {
      hash.update('absent')
    }
  }
  return hash.digest('hex')
}

/** Where a tier's counts are kept. */
function stampFile(name: string): string {
  return join(root, '.kim-results', `${name}.json`)
}

/** Keeps the counts of a tier that passed. */
export function writeStamp(name: string, stamp: Stamp): void {
  mkdirSync(join(root, '.kim-results'), { recursive: true })
  writeFileSync(stampFile(name), `${JSON.stringify(stamp)}\n`)
}

/** The counts of the last run of a tier, if there was one. */
export function readStamp(name: string): Stamp | undefined {
  try {
    return JSON.parse(readFileSync(stampFile(name), 'utf8')) as Stamp
  } catch {
    return undefined
  }
}
