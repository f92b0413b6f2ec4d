import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository, seen from the compiled files in test/dist-test/conformance. */
export const repositoryRoot: string = join(dirname(fileURLToPath(import.meta.url)), '../../..')

/** Where the committed vectors stand. */
export const vectorsDir: string = join(repositoryRoot, 'spec/vectors')

/** Where the stores of releases stand. */
const releasesDir: string = join(repositoryRoot, 'spec/compat')

/** One vector on disk. */
export interface VectorOnDisk {
  readonly name: string
  readonly folder: string
  readonly eventsDir: string
  /** Absent where the reader opens without a cursor. */
  readonly cursorFile: string | undefined
  readonly expect: Readonly<Record<string, unknown>>
}

/** Every vector below a folder, by name. */
export function loadVectors(folder: string = vectorsDir): VectorOnDisk[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => loadVector(folder, name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The journal of each release, in the form of a vector, by version (CO-8, CO-14). */
export function loadReleases(): VectorOnDisk[] {
  return loadVectors(releasesDir)
}

function loadVector(parent: string, name: string): VectorOnDisk {
  const folder = join(parent, name)
  const cursorFile = join(folder, 'cursor.json')
  return {
    name,
    folder,
    eventsDir: join(folder, 'events'),
    cursorFile: existsSync(cursorFile) ? cursorFile : undefined,
    expect: JSON.parse(readFileSync(join(folder, 'expect.json'), 'utf8')),
  }
}
