import { spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import type { Result } from './result.js'
import { root } from './root.js'

/** Where and how a program runs. */
interface CaptureOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Lets every other program go first. */
  readonly yields?: boolean
  /** Ends the program after so long. */
  readonly timeoutMs?: number
}

/** What `nice` adds by default. */
const YIELDING_PRIORITY = 10

/** Runs a program to its end and keeps what it printed. */
export async function capture(
  program: string,
  args: readonly string[],
  { env = {}, cwd = root, yields = false, timeoutMs }: CaptureOptions = {},
): Promise<{ code: number; output: string }> {
  const path = `${join(root, 'node_modules', '.bin')}:${env['PATH'] ?? process.env['PATH'] ?? ''}`
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, NO_COLOR: '1', ...env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
  if (yields && child.pid !== undefined) setPriority(child.pid, YIELDING_PRIORITY)
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
