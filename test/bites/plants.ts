import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The repository's root. */
export const root: string = fileURLToPath(new URL('../../../', import.meta.url))

/** A deliberate fault: a piece of compiled code with another in its place, and the test that must notice it. */
export interface Plant {
  readonly title: string
  /** The compiled file, from the root of the repository. */
  readonly file: string
  /** Code that occurs in the file exactly once. */
  readonly from: string
  readonly to: string
  /** The compiled test file, and the title of its test. */
  readonly test: string
  readonly named: string
  /** True if the fault keeps the test from ending. */
  readonly hangs?: boolean
}

/** A test that computes for so long is taken to hang; each of those named here takes a tenth of it. */
const HANGS_CPU_S = 10
const RUN_MS = 120_000

/** A loader that changes one module as it is loaded. */
const HOOKS = `
let plant
export const initialize = data => { plant = data }
export async function load(url, context, next) {
  const loaded = await next(url, context)
  if (url !== plant.url) return loaded
  const source = Buffer.from(loaded.source).toString()
  return { ...loaded, source: source.replace(plant.from, () => plant.to) }
}`

function preload({ file, from, to }: Plant): string {
  const data = { url: new URL(`../../../${file}`, import.meta.url).href, from, to }
  const hooks = `data:text/javascript,${encodeURIComponent(HOOKS)}`
  const text = `import { register } from 'node:module'; register(${JSON.stringify(hooks)}, { data: ${JSON.stringify(data)} })`
  return `data:text/javascript,${encodeURIComponent(text)}`
}

/** What came of one test, run alone in a process of its own: whether it ran, and whether it passed. */
export async function runNamed(
  { test, named }: Pick<Plant, 'test' | 'named'>,
  plant?: Plant,
): Promise<{ readonly ran: boolean; readonly passed: boolean }> {
  const options = plant === undefined ? [] : ['--import', preload(plant)]
  const command = [process.execPath, ...options, test]
  const limited = ['sh', '-c', `ulimit -t ${HANGS_CPU_S}; exec "$@"`, 'sh', ...command]
  const [program = '', ...args] = plant?.hangs === true ? limited : command
  const child = spawn(program, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      TAP_GREP: `/^${named.replaceAll(/[/.*+?^${}()|[\]\\]/g, '\\$&')}/`,
    },
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), RUN_MS)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  if (signal !== null) return { ran: plant?.hangs === true, passed: false }
  const line = output.split('\n').find(text => /^(not )?ok /.test(text) && text.includes(` - ${named}`))
  return { ran: line !== undefined && !line.includes('# SKIP'), passed: code === 0 }
}
