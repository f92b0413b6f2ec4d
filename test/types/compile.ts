import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

/** The top of the repository. */
export const root: string = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

/** What the compiler says of files that stand together in a folder; nothing if they compile. */
export async function compileFiles(t: Test, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(root, 'test', '.types-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const compilerOptions = { noEmit: true, composite: false, incremental: false, skipLibCheck: true }
  const config = { extends: join(root, 'tsconfig.base.json'), compilerOptions, include: ['*.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compiler = join(root, 'node_modules', 'typescript', 'lib', 'tsc.js')
  return await new Promise(resolve => {
    execFile(process.execPath, [compiler, '-p', folder], (error, stdout, stderr) => {
      resolve(error === null ? '' : stdout + stderr)
    })
  })
}
