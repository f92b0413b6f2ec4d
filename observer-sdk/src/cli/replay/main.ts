import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { jcs, KimError } from '@kim/manifest'
import { coldStart } from '../../replay/digest.js'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    full: { type: 'boolean', default: false },
    cold: { type: 'boolean', default: false },
    events: { type: 'string' },
    cursor: { type: 'string' },
  },
})
const { full, cold, events, cursor: cursorFile } = values
if (positionals[0] !== 'digest' || events === undefined || (full && cold)) {
  process.stderr.write('usage: kim-replay digest [--full | --cold] --events DIR [--cursor FILE]\n')
  process.exitCode = 2
} else {
  try {
    const cursor: unknown =
      cursorFile === undefined ? undefined : JSON.parse(readFileSync(cursorFile, 'utf8'))
    process.stdout.write(`${jcs(await result(events, cursor))}\n`)
  } catch (error) {
    process.stderr.write(`kim-replay: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = error instanceof KimError ? error.exitCode : 1
  }
}

async function result(eventsDir: string, cursor: unknown): Promise<object> {
  if (full) {
    // Verify is loaded for those who ask for it.
    const { fullScan } = await import('../../replay/full-scan.js')
    return await fullScan(eventsDir, cursor)
  }
  const all = coldStart(eventsDir, cursor)
  if (cold) return all
  const { digest, entities, head_seq } = all
  return { digest, entities, head_seq }
}
