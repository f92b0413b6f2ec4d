import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { coldPart, readNaively } from './naive-reader.js'
import { loadRules } from './rules.js'

// The command contract of the runner, plus the folder the rules are read from:
//   node naive/main.js --rules manifest --full|--cold --events DIR [--cursor FILE]
// There is no `verify_exit` in what it prints: a reader does not verify.
const { values } = parseArgs({
  options: {
    rules: { type: 'string', default: 'manifest' },
    full: { type: 'boolean', default: false },
    cold: { type: 'boolean', default: false },
    events: { type: 'string' },
    cursor: { type: 'string' },
  },
})
if (values.events === undefined || values.full === values.cold) {
  process.stderr.write('usage: main.js [--rules DIR] --full|--cold --events DIR [--cursor FILE]\n')
  process.exitCode = 2
} else {
  const cursor: unknown =
    values.cursor === undefined ? undefined : JSON.parse(readFileSync(values.cursor, 'utf8'))
  const result = readNaively(values.events, cursor, loadRules(values.rules))
  process.stdout.write(`${JSON.stringify(values.cold ? coldPart(result) : result)}\n`)
}
