import { type SpawnSyncOptions, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository's root. */
export const root: string = fileURLToPath(new URL('../../../', import.meta.url))

/** The launchers that npm links, by command. */
export const LAUNCHERS = {
  'kim-producer': join(root, 'producer/bin/kim-producer.js'),
  'kim-tail': join(root, 'tail/bin/kim-tail.js'),
  'kim-replay': join(root, 'replay/bin/kim-replay.js'),
} as const
export type Command = keyof typeof LAUNCHERS

/** How a command ended, and what it printed. */
export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs a script of Node to its end. */
export function run(script: string, args: readonly string[], options: SpawnSyncOptions = {}): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    maxBuffer: 1 << 28,
    ...options,
    encoding: 'utf8',
  })
  return { code: status, out: stdout, err: stderr }
}
