import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { didYouMean, type Input, type Io, usageError } from '@kim/cli-kit'

const SUFFIX = '.json'

/** `kim-tail schema`: the schemas that come with the manifest. */
export function run(input: Input, io: Io): number {
  const directory = join(
    dirname(createRequire(import.meta.url).resolve('@kim/manifest/package.json')),
    'schema',
  )
  const names = readdirSync(directory)
    .filter(file => file.endsWith(SUFFIX))
    .map(file => file.slice(0, -SUFFIX.length))
    .sort()
  const name = input.positional('name')
  if (name === undefined) {
    for (const known of names) io.stdout.write(`${known}\n`)
    return 0
  }
  if (!names.includes(name)) {
    throw usageError(`no schema "${name}"${didYouMean(name, names)}`, `the schemas are: ${names.join(', ')}`)
  }
  io.stdout.write(readFileSync(join(directory, `${name}${SUFFIX}`)))
  return 0
}
