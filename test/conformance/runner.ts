import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { coldMembers, type Difference, differencesOf, pick } from './compare.js'
import { loadReleases, loadVectors, type VectorOnDisk } from './vectors.js'

// Judges an implementation, in whatever language, by the vectors:
//   node test/dist-test/conformance/runner.js [--json] [--only TEXT] [--omit MEMBER]… -- <cmd> [args]
// For each vector it calls `<cmd> [args] --full|--cold --events DIR [--cursor FILE]` on a read-only copy, compares
// what is printed with expect.json, and looks whether the copy is still as it was. `--omit` leaves out a member
// that an implementation does not have (a reader without verify has no verify_exit). Exit 0 if all agree.

const callTimeoutMs = 60_000
const outputBytesMax = 16 * 1024 * 1024

interface Failure {
  readonly vector: string
  readonly mode: string
  readonly problem: string
  readonly differences: readonly Difference[]
}

interface Settings {
  readonly command: string
  readonly args: readonly string[]
  readonly omit: readonly string[]
}

/** Both calls for one vector. */
async function judge(vector: VectorOnDisk, settings: Settings): Promise<Failure[]> {
  const copy = mkdtempSync(join(tmpdir(), 'kim-vector-'))
  try {
    cpSync(vector.folder, copy, { recursive: true })
    setWritable(copy, false)
    const before = fingerprintOf(copy)
    const failures: Failure[] = []
    for (const mode of ['--full', '--cold']) {
      const problem = await call(vector, mode, copy, settings)
      if (problem !== undefined) failures.push({ vector: vector.name, mode, ...problem })
    }
    if (fingerprintOf(copy) !== before) {
      failures.push({
        vector: vector.name,
        mode: 'both',
        problem: 'the directory was changed',
        differences: [],
      })
    }
    return failures
  } finally {
    setWritable(copy, true)
    rmSync(copy, { recursive: true, force: true })
  }
}

async function call(
  vector: VectorOnDisk,
  mode: string,
  copy: string,
  { command, args, omit }: Settings,
): Promise<Pick<Failure, 'problem' | 'differences'> | undefined> {
  const cursor = vector.cursorFile === undefined ? [] : ['--cursor', join(copy, 'cursor.json')]
  const { code, stdout, stderr } = await run(command, [
    ...args,
    mode,
    '--events',
    join(copy, 'events'),
    ...cursor,
  ])
  if (code !== 0) return { problem: `exit ${code}: ${stderr.trim().slice(0, 500)}`, differences: [] }
  let printed: unknown
  try {
    printed = JSON.parse(stdout)
  } catch {
    return { problem: `no JSON object on stdout: ${stdout.slice(0, 200)}`, differences: [] }
  }
  if (typeof printed !== 'object' || printed === null) return { problem: 'no object', differences: [] }
  const asked = (mode === '--cold' ? coldMembers : Object.keys(vector.expect)).filter(
    one => !omit.includes(one),
  )
  const actual = Object.fromEntries(Object.entries(printed).filter(([member]) => !omit.includes(member)))
  const differences = differencesOf(pick(vector.expect, asked), actual)
  return differences.length === 0 ? undefined : { problem: 'not as expected', differences }
}

/** Runs a command to its end; a code of -1 stands for one that could not be run or took too long. */
function run(
  command: string,
  args: readonly string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise(resolve => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    // Not spawn's own timeout: it keeps running for a command that is not there.
    const timer = setTimeout(() => child.kill('SIGKILL'), callTimeoutMs)
    const out: Buffer[] = []
    const err: Buffer[] = []
    let size = 0
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > outputBytesMax) child.kill()
      else out.push(chunk)
    })
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
    const end = (code: number, note = ''): void => {
      clearTimeout(timer)
      resolve({
        code,
        stdout: Buffer.concat(out).toString('utf8'),
        stderr: `${note}${Buffer.concat(err).toString('utf8')}`,
      })
    }
    child.on('error', error => end(-1, String(error)))
    child.on('close', (code, signal) => end(code ?? -1, signal === null ? '' : `ended by ${signal} `))
  })
}

/** Takes the write permission from everything below a folder, or gives it back to its owner. */
function setWritable(folder: string, writable: boolean): void {
  const paths = [folder, ...entriesBelow(folder)]
  for (const path of paths) {
    const { mode } = lstatSync(path)
    chmodSync(path, writable ? mode | 0o200 : mode & ~0o222)
  }
}

/** Names, modes, times of change and contents. */
function fingerprintOf(folder: string): string {
  const hash = createHash('sha256')
  for (const path of entriesBelow(folder)) {
    const { mode, mtimeMs, size } = lstatSync(path)
    hash.update(`${path}\0${mode}\0${mtimeMs}\0${size}\0`)
    if (lstatSync(path).isFile()) hash.update(readFileSync(path))
  }
  return hash.digest('hex')
}

function entriesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
}

/** Judges all vectors, a few at a time, and tells of each as it is done. */
async function judgeAll(
  vectors: readonly VectorOnDisk[],
  settings: Settings,
  onJudged: (vector: VectorOnDisk, failures: readonly Failure[]) => void,
): Promise<Failure[]> {
  const all: Failure[] = []
  const queue = vectors.values()
  const worker = async (): Promise<void> => {
    for (const vector of queue) {
      const failures = await judge(vector, settings)
      all.push(...failures)
      onJudged(vector, failures)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
  return all
}

function describe({ mode, problem, differences }: Failure): string {
  const lines = differences.map(
    ({ member, expected, actual }) =>
      `      ${member}: expected ${expected}\n      ${' '.repeat(member.length)}       got ${actual}`,
  )
  return [`    ${mode}: ${problem}`, ...lines].join('\n')
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      omit: { type: 'string', multiple: true, default: [] },
      vectors: { type: 'string' },
    },
  })
  const [command, ...args] = positionals
  const all =
    values.vectors === undefined ? [...loadVectors(), ...loadReleases()] : loadVectors(values.vectors)
  const vectors = all.filter(({ name }) => name.includes(values.only))
  if (command === undefined || vectors.length === 0) {
    const why = command === undefined ? 'no command after --' : `no vector is called …${values.only}…`
    process.stderr.write(
      `runner: ${why}\nusage: runner.js [--json] [--only TEXT] [--omit MEMBER]… -- <cmd> [args]\n`,
    )
    return 2
  }
  const failures = await judgeAll(vectors, { command, args, omit: values.omit }, ({ name }, failed) => {
    if (values.json) return
    process.stdout.write(
      failed.length === 0 ? `ok   ${name}\n` : `FAIL ${name}\n${failed.map(describe).join('\n')}\n`,
    )
  })
  const wrong = new Set(failures.map(({ vector }) => vector)).size
  if (values.json) {
    const counts = { vectors: vectors.length, agree: vectors.length - wrong, differ: wrong }
    process.stdout.write(`${JSON.stringify({ ...counts, failures })}\n`)
  } else {
    process.stdout.write(
      `${vectors.length} vectors, twice each: ${vectors.length - wrong} agree, ${wrong} differ\n`,
    )
  }
  return failures.length === 0 ? 0 : 1
}

process.exitCode = await main()
