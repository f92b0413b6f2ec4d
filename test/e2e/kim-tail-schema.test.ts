import { join } from 'node:path'
import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { Following, line, tail, write } from './kim-tail-process.js'

const validators = new Map<string, ValidateFunction>()
const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
const root = t.testdir()
const persona = {
  agent: 'river',
  item_id: 'river',
  item_type: 'persona',
  payload: { schema_version: 1, cursor: 7, floor: 1, persona: 'river', state: 'up' },
}
const store = write(join(root, 'store'), {
  'events/seg-00000001.jsonl':
    line(1) +
    line(2, { ...persona, event: 'armed', clock: { boot_ms: 5, mono_ms: 90 } }) +
    line(3, { event: undefined, action: 'backfill', payload: undefined }),
})

function schema(t: Test, name: string): ValidateFunction {
  const known = validators.get(name)
  if (known !== undefined) return known
  const { code, stdout } = tail(root, ['schema', name])
  t.equal(code, 0, name)
  const made = ajv.compile(JSON.parse(stdout) as object)
  validators.set(name, made)
  return made
}

/** Every line of an output is what its schema says. */
function holds(t: Test, name: string, stdout: string): void {
  const validate = schema(t, name)
  const lines = stdout.split('\n').filter(Boolean)
  t.ok(lines.length > 0, `${name} has output`)
  for (const text of lines)
    t.ok(validate(JSON.parse(text)), `${name}: ${text} ${JSON.stringify(validate.errors)}`)
}

t.test('schema - CL-7 every output is what its schema says', async t => {
  const at = ['--store', store]
  tail(root, ['cursors', 'set', 'c', '--head', ...at])
  holds(t, 'record', tail(root, [...at, '-n', '2', '-t', 'message.new,persona']).stdout)
  holds(t, 'output-monitor', tail(root, [...at, '-o', 'monitor']).stdout)
  holds(t, 'output-cloudevents', tail(root, [...at, '-o', 'cloudevents']).stdout)
  holds(t, 'output-status', tail(root, ['status', '--json', ...at]).stdout)
  holds(t, 'output-personas', tail(root, ['personas', '--json', ...at]).stdout)
  holds(t, 'output-activity', tail(root, ['activity', 'argus', '--since-id', '0', '--json', ...at]).stdout)
  holds(t, 'output-cursors', tail(root, ['cursors', 'ls', '--json']).stdout)
  holds(t, 'output-error', tail(root, ['status', '--json', '--store', join(root, 'none')]).stdout)
  const beating = new Following(root, [...at, '-f', '-n', '0', '-o', 'monitor', '--heartbeat', '20ms'])
  holds(t, 'output-monitor', (await beating.have(2)).join('\n'))
  beating.child.kill('SIGTERM')
  await beating.ended
})

t.test('schema - each one that is named can be compiled', async t => {
  const names = tail(root, ['schema']).stdout.split('\n').filter(Boolean)
  t.ok(names.includes('output-status') && names.includes('message'))
  const alone = new Ajv2020({ allowUnionTypes: true, strictRequired: false })
  for (const name of names) alone.compile(JSON.parse(tail(root, ['schema', name]).stdout) as object)
})
