import type { Group } from './all.js'
import { readmeText } from './readme.js'
import { expectText, type Vector } from './vector.js'

/** Every file below `spec/vectors/`, by path. */
export function treeOf(groups: readonly Group[]): Map<string, Uint8Array> {
  const tree = new Map<string, Uint8Array>()
  const add = (path: string, content: string | Uint8Array): void => {
    if (tree.has(path)) throw new Error(`two vectors want ${path}`)
    tree.set(path, Buffer.from(content as Uint8Array))
  }
  add('README.md', readmeText(groups))
  for (const { vectors } of groups) for (const vector of vectors) addVector(vector, add)
  return tree
}

function addVector(vector: Vector, add: (path: string, content: string | Uint8Array) => void): void {
  const { name, files, cursor, facts } = vector
  for (const [path, content] of Object.entries(files ?? {})) add(`${name}/events/${path}`, content)
  if (cursor !== undefined) add(`${name}/cursor.json`, `${JSON.stringify(cursor)}\n`)
  add(`${name}/expect.json`, expectText(facts))
}
