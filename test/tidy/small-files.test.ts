import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { PACKAGES, sources, textOf } from './sources.js'

/** A file with fewer lines is one more file to open; it has to serve at least two others. */
const LINES_MIN = 60

/** Small files that do not yet serve two others. The list only gets shorter. */
const EXCEPTIONS: readonly string[] = []

/** Doors and mains: programs and hosts begin there, so no file of ours has to import them. */
const ENTRANCE = /\/(?:index|internal|main|[\w-]+-door)\.ts$/

const files = sources(...PACKAGES.map(name => `${name}/src/`)).filter(
  file => !file.includes('/src/generated/'),
)

/** An `import` or `export` from another file: which it is, the names, and the file. */
const FROM = /^(import|export) (?:type )?(?:\{([^}]*)\}|\* as \w+|\w+) from '([^']+)'/gm

interface Link {
  readonly isImport: boolean
  /** The names as the other file calls them. */
  readonly names: readonly string[]
  readonly target: string
}

function linksOf(file: string): Link[] {
  return [...textOf(file).matchAll(FROM)].map(([, kind, names = '', target = '']) => ({
    isImport: kind === 'import',
    names: names.split(',').flatMap(name => /(?:type )?(\w+)/.exec(name.trim())?.[1] ?? []),
    target: fileOf(file, target),
  }))
}

/** The source behind a path in an import: a file beside it, or the door of a package. */
function fileOf(from: string, target: string): string {
  if (target.startsWith('.')) return normalize(join(dirname(from), target)).replace(/\.js$/, '.ts')
  const [, name = '', door = 'index'] = /^@kim\/([\w-]+)(?:\/([\w-]+))?$/.exec(target) ?? []
  const path = `${name}/src/${door}.ts`
  return files.includes(path) ? path : path.replace(/\.ts$/, '-door.ts')
}

/** The files that declare the names behind an import; a door passes each name on to the file that it takes it from. */
function declaring({ names, target }: Link): string[] {
  if (!ENTRANCE.test(target) || !files.includes(target)) return [target]
  const passed = linksOf(target).filter(({ isImport }) => !isImport)
  return names.flatMap(name =>
    passed
      .filter(link => link.names.includes(name) || passedAs(target, name, link))
      .flatMap(link => declaring({ ...link, names: link.names.filter(each => each === name) })),
  )
}

/** Whether a door passes a name on under another one. */
function passedAs(door: string, name: string, { names }: Link): boolean {
  return names.some(own => new RegExp(`\\b${own} as ${name}\\b`).test(textOf(door)))
}

t.test('files - one with fewer than 60 lines serves at least two others', t => {
  const users = new Map<string, Set<string>>()
  const onDemand = new Set<string>()
  for (const file of files) {
    for (const link of linksOf(file).filter(({ isImport }) => isImport))
      for (const used of declaring(link)) users.set(used, (users.get(used) ?? new Set()).add(file))
    for (const [, target = ''] of textOf(file).matchAll(/\bimport\('([^']+)'\)/g))
      onDemand.add(fileOf(file, target))
  }
  const small = files.filter(file => textOf(file).trimEnd().split('\n').length < LINES_MIN)
  t.ok(small.length > 5, `${small.length} of ${files.length} files are small`)
  const odd = small.filter(
    file => !ENTRANCE.test(file) && !onDemand.has(file) && (users.get(file)?.size ?? 0) < 2,
  )
  t.same(odd.sort(), [...EXCEPTIONS].sort(), 'merge each into the file that uses it, or shorten the list')
  t.end()
})
