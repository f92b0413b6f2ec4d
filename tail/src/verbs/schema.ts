import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { didYouMean, type Input, type Io, usageError } from '@kim/cli-kit'

const SUFFIX = '.json'

/** `kim-tail schema`: what a record holds, from the manifest, and what this command prints. */
export function run(input: Input, io: Io): number {
  const files = new Map(folders().flatMap(schemasIn))
  const names = [...files.keys()].sort()
  const name = input.positional('name')
  if (name === undefined) {
    for (const known of names) io.stdout.write(`${known}\n`)
    return 0
  }
  const file = files.get(name)
  if (file === undefined)
    throw usageError(
      `there is no schema "${name}"${didYouMean(name, names)}`,
      `the schemas are: ${names.join(', ')}`,
    )
  io.stdout.write(readFileSync(file))
  return 0
}

function folders(): string[] {
  const manifest = dirname(createRequire(import.meta.url).resolve('@kim/manifest/package.json'))
  return [join(manifest, 'schema'), fileURLToPath(new URL('../../schema', import.meta.url))]
}

function schemasIn(folder: string): (readonly [name: string, file: string])[] {
  return readdirSync(folder)
    .filter(file => file.endsWith(SUFFIX))
    .map(file => [file.slice(0, -SUFFIX.length), join(folder, file)] as const)
}
