import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './root.js'

/**
 * The compiled test files of a folder of sources. Found through the sources, so that the output of a test that
 * was deleted never runs, and a source that was not compiled is an error instead of a silent hole.
 */
export function testFiles(folder: string, suffix: string): string[] {
  const [first = ''] = folder.split('/')
  const base =
    first === 'test'
      ? 'test'
      : folder.includes('/test')
        ? folder.slice(0, folder.indexOf('/test') + 5)
        : folder
  const out = base === 'test' ? 'test/dist-test' : `${base.slice(0, -'/test'.length)}/dist-test`
  const files: string[] = []
  for (const source of walk(folder).filter(path => path.endsWith(`${suffix}.ts`))) {
    const compiled = join(out, source.slice(base.length + 1)).replace(/\.ts$/, '.js')
    if (!existsSync(join(root, compiled)))
      throw new Error(`${source} is not compiled (${compiled} is missing): npm run build`)
    files.push(compiled)
  }
  return files.sort()
}

function walk(folder: string): string[] {
  const absolute = join(root, folder)
  if (!existsSync(absolute)) return []
  return readdirSync(absolute, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(root.length + 1))
}
