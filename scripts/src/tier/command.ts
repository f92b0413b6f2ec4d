import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Result } from './result.js'
import { root } from './root.js'

/** Runs a program to its end and keeps what it printed. */
export async function capture(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd: string = root,
): Promise<{ code: number; output: string }> {
  const path = `${join(root, 'node_modules', '.bin')}:${env['PATH'] ?? process.env['PATH'] ?? ''}`
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, NO_COLOR: '1', ...env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const chunks: Buffer[] = []
  child.stdout.on('data', chunk => chunks.push(chunk))
  child.stderr.on('data', chunk => chunks.push(chunk))
  const code = await new Promise<number>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (status, signal) => resolve(status ?? (signal === null ? 1 : 128)))
  })
  return { code, output: Buffer.concat(chunks).toString('utf8') }
}

/** A step that passes or fails as a whole and counts no tests. */
export async function gate(note: string, program: string, args: readonly string[]): Promise<Result> {
  const { code, output } = await capture(program, args)
  return { ok: code === 0, passed: 0, failed: code === 0 ? 0 : 1, skipped: 0, note, said: [], output }
}
