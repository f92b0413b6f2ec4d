import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A fault planted in the producer: text of one of its compiled modules, and what stands there instead. */
export interface Plant {
  /** Below the package's `dist`. */
  readonly file: string
  readonly from: string
  readonly to: string
}

/** The package under test. */
export const producerRoot: string = dirname(
  createRequire(import.meta.url).resolve('@kim/producer/package.json'),
)

const VARIABLE = 'KIM_PLANT'

/** The environment of a test whose producers are to have this fault. */
export function planted(plant: Plant): Record<string, string> {
  return { [VARIABLE]: JSON.stringify(plant) }
}

/** Whether the text that a plant replaces stands in the module, once. */
export function canPlant({ file, from }: Plant): boolean {
  return readFileSync(join(producerRoot, 'dist', file), 'utf8').split(from).length === 2
}

/** What Node is told, so that the producer it runs has the fault this process was asked to plant. */
export function plantFlags(): readonly string[] {
  const text = process.env[VARIABLE]
  if (text === undefined) return []
  const { file, from, to } = JSON.parse(text) as Plant
  const url = pathToFileURL(join(producerRoot, 'dist', file)).href
  const hook = `export async function load(url, context, next) {
    const loaded = await next(url, context)
    if (url !== ${JSON.stringify(url)}) return loaded
    return { ...loaded, source: String(loaded.source).replace(${JSON.stringify(from)}, () => ${JSON.stringify(to)}) }
  }`
  const dataUrl = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`
  const preload = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hook))})`
  return ['--import', dataUrl(preload)]
}
