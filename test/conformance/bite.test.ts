import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { differencesOf } from './compare.js'
import { mutationsOf } from './mutations.js'
import { readNaively } from './naive/naive-reader.js'
import { loadRules, type Rules } from './naive/rules.js'
import { loadVectors, repositoryRoot, type VectorOnDisk } from './vectors.js'

const rules = loadRules(join(repositoryRoot, 'manifest'))

/** The one vector whose lines are as long as lines may be: slow to read, and asked about that alone. */
const longLines = 'line-at-and-over-the-limit'
const vectors = loadVectors()
const long = vectors.filter(({ name }) => name === longLines)
const queue = vectors.filter(({ name }) => name !== longLines)

const cursors = new Map(
  vectors.map(({ name, cursorFile }) => [
    name,
    cursorFile === undefined ? undefined : JSON.parse(readFileSync(cursorFile, 'utf8')),
  ]),
)

function fails({ name, eventsDir, expect }: VectorOnDisk, changed: Rules): boolean {
  const { verify_exit: _, ...stated } = expect
  return differencesOf(stated, { ...readNaively(eventsDir, cursors.get(name), changed) }).length > 0
}

/** The first vector that fails under changed rules. Mutations come in families, so it is asked first next time. */
function biter(changed: Rules): VectorOnDisk | undefined {
  if (changed.limits.line_read_bytes_max.value !== rules.limits.line_read_bytes_max.value) {
    return long.find(vector => fails(vector, changed))
  }
  const found = queue.find(vector => fails(vector, changed))
  if (found !== undefined) {
    queue.splice(queue.indexOf(found), 1)
    queue.unshift(found)
  }
  return found
}

t.test('vectors - bite: every change of a rule that a reader goes by fails one of them', async t => {
  let bitten = 0
  let silent = 0
  for (const { title, shows, rules: changed } of mutationsOf(rules)) {
    const found = biter(changed)
    if (shows) t.ok(found, found === undefined ? title : `${title}: ${found.name}`)
    else t.equal(found?.name, undefined, `${title}: no journal can show it`)
    if (shows) bitten += 1
    else silent += 1
  }
  t.comment(`${bitten + silent} mutations: ${bitten} fail a vector, ${silent} are no change of behaviour`)
})
