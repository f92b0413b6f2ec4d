import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { root } from './root.js'

/** Runs one test file and shows all that it prints: `npm run test:one producer/test/core/arming.test.ts`. */
export async function runOne(args: readonly string[]): Promise<number> {
  const [file, ...rest] = args
  if (file === undefined || rest.length > 0) {
    console.error('npm run test:one needs one test file, such as producer/test/core/arming.test.ts')
    return 2
  }
  const compiled = compiledTest(relative(root, resolve(file)))
  if (!compiled.endsWith('.test.js') || !existsSync(join(root, compiled))) {
    console.error(
      `there is no test file ${file}: ${compiled} does not exist. git ls-files "*.test.ts" lists the test files`,
    )
    return 2
  }
  const tap = join(root, 'node_modules', '.bin', 'tap')
  const child = spawn(tap, ['--reporter=tap', compiled], { cwd: root, stdio: 'inherit' })
  return await new Promise<number>((done, reject) => {
    child.on('error', reject)
    child.on('close', status => done(status ?? 1))
  })
}

/** Where the compiler puts a test: `tail/test/x.test.ts` is `tail/dist-test/x.test.js`, `test/kit/y.test.ts` is `test/dist-test/kit/y.test.js`. */
function compiledTest(path: string): string {
  if (!path.endsWith('.ts')) return path
  const folder = path.startsWith('test/')
    ? `test/dist-test/${path.slice(5)}`
    : path.replace('/test/', '/dist-test/')
  return folder.replace(/\.ts$/, '.js')
}
