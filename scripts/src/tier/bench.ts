import { spawn } from 'node:child_process'
import { basename, join } from 'node:path'
import { root } from './root.js'
import { testFiles } from './sources.js'

/** Runs benches one after another in fresh processes: `npm run bench -- append cold --json`. */
export async function runBench(args: readonly string[]): Promise<number> {
  const files = testFiles('test/bench', '.bench')
  const byName = new Map(files.map(file => [basename(file, '.bench.js'), file]))
  const names = args.filter(arg => !arg.startsWith('-'))
  const unknown = names.find(name => !byName.has(name))
  if (unknown !== undefined) {
    console.error(`there is no bench "${unknown}"; the benches are: ${[...byName.keys()].join(', ')}`)
    return 2
  }
  const flags = args.filter(arg => arg.startsWith('-'))
  let worst = 0
  for (const [name, file] of byName) {
    if (names.length > 0 && !names.includes(name)) continue
    const child = spawn(process.execPath, [join(root, file), ...flags], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const code = await new Promise<number>(resolve => child.on('close', status => resolve(status ?? 1)))
    worst = Math.max(worst, code)
  }
  return worst
}
