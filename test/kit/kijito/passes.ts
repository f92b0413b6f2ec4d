import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What waits for what never comes need not wait long to have failed. */
const PATIENCE_MS = 20_000

/** Runs a file of tests in a process of its own; true if it passes. */
export async function passes(file: URL, env: Readonly<Record<string, string>>): Promise<boolean> {
  const child = spawn(process.execPath, [fileURLToPath(file)], {
    stdio: 'ignore',
    env: { ...process.env, KIM_PATIENCE_MS: String(PATIENCE_MS), ...env },
  })
  return (await new Promise(resolve => child.on('close', resolve))) === 0
}
