import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const limits = JSON.parse(readFileSync(join(root, 'manifest/limits.json'), 'utf8')) as Record<
  string,
  { readonly value: number; readonly unit: string }
>

/** Where the behaviour at each limit is shown: a test that must fail once the limit is another. */
const SHOWN_BY: Readonly<Record<string, string>> = {
  response_bytes_max: 'producer/dist-test/source/transport.test.js',
  responses_bytes_max: 'producer/dist-test/source/bodies.test.js',
  response_rows_max: 'producer/dist-test/source/bodies.test.js',
  summary_code_points_max: 'manifest/dist-test/limits.test.js',
  name_bytes_max: 'producer/dist-test/journal/validate-draft.test.js',
  key_bytes_max: 'producer/dist-test/journal/validate-draft.test.js',
  line_read_bytes_max: 'manifest/dist-test/lines.test.js',
  line_written_bytes_max: 'manifest/dist-test/codec.test.js',
  nesting_levels_max: 'manifest/dist-test/codec.test.js',
  tx_records_max: 'manifest/dist-test/codec.test.js',
  commit_records_max: 'manifest/dist-test/limits.test.js',
  commit_bytes_max: 'manifest/dist-test/limits.test.js',
  segment_bytes_max: 'manifest/dist-test/limits.test.js',
  personas_max: 'producer/dist-test/source/names.test.js',
  persona_name_bytes_max: 'producer/dist-test/source/names.test.js',
  payload_inline_bytes_max: 'manifest/dist-test/limits.test.js',
  seq_max: 'manifest/dist-test/limits.test.js',
  seq_warn_ratio: 'manifest/dist-test/limits.test.js',
  meta_ahead_records_max: 'manifest/dist-test/limits.test.js',
  activity_records_max: 'manifest/dist-test/fold.test.js',
  key_retention_days_min: 'manifest/dist-test/limits.test.js',
  read_messages_retained_max: 'producer/dist-test/journal/roll.test.js',
  metrics_personas_max: 'producer/dist-test/run/metrics.test.js',
  monitor_line_bytes_max: 'monitor/dist-test/event-line.test.js',
  monitor_content_code_points_max: 'tail/dist-test/plan.test.js',
  agent_line_characters_max: 'tail/dist-test/plan.test.js',
  exec_timeout_ms_max: 'monitor/dist-test/exec-time.test.js',
  exec_commands_max: 'monitor/dist-test/exec-retry.test.js',
  exec_event_bytes_max: 'monitor/dist-test/exec.test.js',
  consumer_lock_stale_ms_max: 'tail/dist-test/board.test.js',
}

/** One step of each unit; of a ratio, less than one seq of the range it is applied to. */
const STEP: Readonly<Record<string, number>> = { seq_warn_ratio: 1e-8 }

/** A program that sets a limit before anything has read it. */
function preload(name: string, value: number): string {
  const generated = new URL('../../../manifest/dist/generated/limits.js', import.meta.url).href
  const member = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  const change = `import { limitValues } from ${JSON.stringify(generated)}; limitValues.${member} = ${value}`
  return `data:text/javascript,${encodeURIComponent(change)}`
}

/** Runs one compiled test file in a process of its own, in which a limit may be another. */
async function passes(
  file: string,
  changed?: { readonly name: string; readonly value: number },
): Promise<boolean> {
  const options = changed === undefined ? [] : ['--import', preload(changed.name, changed.value)]
  const child = spawn(process.execPath, [...options, join(root, file)], {
    cwd: root,
    stdio: 'ignore',
    env: { ...process.env, TAP_BAIL: '1' },
  })
  const [code] = await once(child, 'exit')
  return code === 0
}

t.jobs = availableParallelism()

t.test('limits - as they are, the tests pass', { buffered: true }, async t => {
  for (const file of new Set(Object.values(SHOWN_BY))) t.ok(await passes(file), file)
})

t.test('limits - each has a test that shows it', async t => {
  t.same(Object.keys(SHOWN_BY).sort(), Object.keys(limits).sort())
})

for (const [name, file] of Object.entries(SHOWN_BY)) {
  t.test(`limits - ${name}, one less or one more, is noticed`, { buffered: true }, async t => {
    const { value, unit } = limits[name] ?? { value: 0, unit: '' }
    const step = STEP[name] ?? 1
    for (const other of [value - step, value + step]) {
      t.notOk(await passes(file, { name, value: other }), `${file} fails with ${other} ${unit}`)
    }
  })
}
