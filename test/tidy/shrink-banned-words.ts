/** Lowers the counts of `banned-words-later.json` to what the files have, and raises none. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bannedByFile, LATER } from './banned-words.js'
import { root } from './sources.js'

const found = bannedByFile()
const still = Object.entries(LATER)
  .map(([file, count]) => [file, Math.min(count, found[file] ?? 0)] as const)
  .filter(([, count]) => count > 0)
writeFileSync(
  join(root, 'test/tidy/banned-words-later.json'),
  `${JSON.stringify(Object.fromEntries(still), null, 2)}\n`,
)
