import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Runs a file of tests in a process of its own; true if it passes. */
export async function passes(file: URL, env: Readonly<Record<string, string>>): Promise<boolean> {
  const child = spawn(process.execPath, [fileURLToPath(file)], {
    stdio: 'ignore',
    env: { ...process.env, ...env },
  })
  return (await new Promise(resolve => child.on('close', resolve))) === 0
}
