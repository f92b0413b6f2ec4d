import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { groups } from './vectors/all.js'
import { treeOf } from './vectors/tree.js'

// Writes spec/vectors from the declarations in vectors/: what is there is what they say, no file more or less.
//   node scripts/dist/gen-vectors.js [--out DIR]

const { values } = parseArgs({ options: { out: { type: 'string' } } })
const out = values.out ?? join(dirname(fileURLToPath(import.meta.url)), '../../spec/vectors')
const tree = treeOf(groups)

/** Paths of the files below a folder, relative to it. */
function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(entry => !entry.isDirectory())
    .map(entry =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
}

/** Removes folders that no file of the tree stands in; nothing is left in them by then. */
function removeEmptyFolders(folder: string, path: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    const inner = `${path}${entry.name}/`
    removeEmptyFolders(join(folder, entry.name), inner)
    if (![...tree.keys()].some(file => file.startsWith(inner))) rmdirSync(join(folder, entry.name))
  }
}

const present = filesBelow(out)
if (present.length > 0 && !present.includes('README.md')) {
  throw new Error(`${out} holds files and is no folder of vectors`)
}
let changed = 0
for (const path of present) {
  if (tree.has(path)) continue
  rmSync(join(out, path))
  changed += 1
}
if (existsSync(out)) removeEmptyFolders(out, '')
for (const [path, content] of tree) {
  const file = join(out, path)
  if (existsSync(file) && readFileSync(file).equals(content)) continue
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  changed += 1
}
const vectors = groups.reduce((sum, group) => sum + group.vectors.length, 0)
const bytes = [...tree.values()].reduce((sum, content) => sum + content.length, 0)
process.stdout.write(`${vectors} vectors, ${tree.size} files, ${bytes} bytes; ${changed} changed\n`)
