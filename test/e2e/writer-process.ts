import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { SegmentWrite } from './segment-writes.js'

/** What the writer says when all is appended. */
export interface Written {
  readonly head: number
  readonly messages: number
  readonly project_id: string
  readonly writes: readonly SegmentWrite[]
}

/** A compiled script beside the tests. */
export function scriptPath(name: string): string {
  return fileURLToPath(new URL(`./${name}`, import.meta.url))
}

/** Runs the writer as a process of its own, to its end. */
export async function write(
  store: string,
  options: Readonly<Record<string, string | number>>,
): Promise<Written> {
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn(process.execPath, [scriptPath('journal-writer.js'), '--store', store, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { code, stdout, stderr } = await ended(child)
  if (code !== 0) throw new Error(`the writer ended with ${code}: ${stderr}`)
  return JSON.parse(stdout) as Written
}

/** Waits for a child's end and gives what it printed. */
export async function ended(
  child: ChildProcess,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
      texts[name] += chunk
    })
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  return { code, ...texts }
}
