import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { LineOutput, runProgram } from '@kim/cli-kit'
import { type JsonObject, limits, Signal } from '@kim/manifest'
import t from 'tap'
import { message, record } from '../../monitor/dist-test/records.js'
import { judgeHealth, producerState } from '../dist/flow/health.js'
import { RateGate } from '../dist/flow/printer.js'
import { Every, StopWatch, sleepUntilDue } from '../dist/flow/timetable.js'
import { parseRate } from '../dist/plan.js'
import { tailProgram } from '../dist/program.js'

const none = { count: undefined, untilMatch: undefined, timeoutMs: undefined, deadlineMs: undefined }

t.test('stop - count, match, idle and total time', async t => {
  const count = new StopWatch({ ...none, count: 2 }, 0)
  t.same([count.onPrinted(() => '', 1), count.onPrinted(() => '', 2)], [false, true])
  t.ok(new StopWatch({ ...none, count: 0 }, 0).isDone)
  const match = new StopWatch({ ...none, untilMatch: /^x$/ }, 0)
  t.same([match.onPrinted(() => 'a', 1), match.onPrinted(() => 'x', 2)], [false, true])
  const timed = new StopWatch({ ...none, timeoutMs: 10, deadlineMs: 25 }, 0)
  t.equal(timed.dueAtMs, 25)
  t.equal(timed.due(24), undefined, 'no listener yet')
  timed.onPrinted(() => '', 0)
  timed.listen(0)
  timed.listen(5)
  t.equal(timed.dueAtMs, 10)
  t.equal(timed.due(9), undefined)
  t.equal(timed.due(10), 'timeout')
  timed.onPrinted(() => '', 12)
  t.equal(timed.due(20), undefined, 'a record restarts the wait')
  t.equal(timed.dueAtMs, 22)
  t.equal(timed.due(25), 'deadline')
  timed.onCame(24)
  t.equal(timed.due(24), undefined, 'one that was held back came too')
  t.equal(new StopWatch(none, 0).dueAtMs, undefined)
})

t.test('stop - CL-5 3 says that what was waited for did not come', async t => {
  const quiet = new StopWatch({ ...none, timeoutMs: 1 }, 0)
  t.equal(quiet.exitCode('timeout'), 3)
  quiet.onPrinted(() => '', 0)
  t.equal(quiet.exitCode('timeout'), 0)
  t.equal(quiet.exitCode('met'), 0)
  const wanting = new StopWatch({ ...none, count: 2, timeoutMs: 1 }, 0)
  wanting.onPrinted(() => '', 0)
  t.equal(wanting.exitCode('deadline'), 3, 'one of two is not what was asked for')
})

t.test('rate - lets so many pass, counts the rest, and tells them in a line that counts too', async t => {
  const gate = new RateGate(parseRate('2/1s'))
  t.same(
    [gate.admits(1, 0), gate.admits(2, 10), gate.admits(3, 20), gate.admits(4, 900)],
    [true, true, false, false],
  )
  t.equal(gate.dueAtMs, 1000)
  t.equal(gate.take(999), undefined)
  t.same(gate.take(1000), { n: 2, first: 3, last: 4 })
  t.same(
    [gate.admits(5, 1001), gate.admits(6, 1002)],
    [true, false],
    'the telling was the first line of the window',
  )
  t.same(gate.take(1003, true), { n: 1, first: 6, last: 6 }, 'at the end at once')
  t.equal(gate.dueAtMs, undefined)
  t.ok(gate.admits(7, 9000))
})

t.test('output - one write a turn, resolved when the stream took it', async t => {
  const writes: string[] = []
  const waiting: (() => void)[] = []
  const out = new LineOutput({
    write(chunk: unknown, done?: unknown) {
      writes.push(String(chunk))
      waiting.push(done as () => void)
      return true
    },
  })
  out.line('a')
  out.line(Buffer.from('b'))
  let flushed = false
  const flush = out.flush().then(() => {
    flushed = true
  })
  t.same(writes, ['a\nb\n'])
  await Promise.resolve()
  t.notOk(flushed)
  waiting[0]?.()
  await flush
  await out.flush()
  t.equal(writes.length, 1, 'nothing to write is no write')
  t.notOk(out.isFull)
  out.line('x'.repeat(70_000))
  t.ok(out.isFull)
})

t.test('due - sleeps until the signal is raised or something is due', async t => {
  const now = (): number => performance.now()
  const signal = new Signal()
  signal.raise()
  await sleepUntilDue(signal, [], now)
  t.pass('raised before the sleep')
  await sleepUntilDue(signal, [{ dueAtMs: undefined }, { dueAtMs: now() - 5 }], now)
  await sleepUntilDue(signal, [{ dueAtMs: now() + 5 }], now)
  t.pass('due')
  setTimeout(() => signal.raise(), 5)
  await sleepUntilDue(signal, [{ dueAtMs: now() + 600_000 }], now)
  t.pass('raised during the sleep')
  let runs = 0
  const every = new Every(10, 0, () => {
    runs += 1
  })
  const keep = (nowMs: number): number => {
    every.keep(nowMs)
    return runs
  }
  t.same([keep(9), keep(10), keep(11), every.dueAtMs], [0, 1, 1, 20])
})

t.test('health - CL-30 up, stale, down, by what the file says', async t => {
  const judge = (health: JsonObject, ageMs: number, alive = true): string =>
    judgeHealth(health, 1e12 - ageMs, 1e12, () => alive).state
  t.equal(judge({ pid: 5 }, 29_000), 'up')
  t.equal(judge({ pid: 5 }, 31_000), 'stale')
  t.match(
    judgeHealth({ pid: 5 }, 0, 31_000, () => true).evidence,
    /is old: .*see: kim-producer status \(with the same --store\)/,
  )
  t.equal(judge({ pid: 5 }, 100, false), 'down')
  const ended = (nowMs: number): string => judgeHealth({ pid: 5 }, 0, nowMs, () => false).evidence
  t.match(ended(29_000), /no longer runs here, although run\/health\.json is fresh: .* another container or/)
  t.match(ended(31_000), /^its process 5 no longer runs$/)
  t.equal(judge({ state: 'stopped' }, 100), 'down')
  t.equal(judge({ interval_ms: 1000 }, 2900), 'up')
  t.equal(judge({ interval_ms: 1000 }, 3100), 'stale')
  t.equal(judge({ pid: 'x', interval_ms: -1 }, 100), 'up', 'odd values count for nothing')
  t.equal(judge({ interval_ms: 1e300 }, 11_000_000), 'stale', 'CL-30 nothing is fresh for ever')
  t.equal(judge({ updated: '2099-01-01T00:00:00Z' }, 31_000), 'stale', 'a time to come is no sign of life')
})

t.test('health - CL-30 of as many inboxes as there can be, and of what is no object', async t => {
  const storeDir = t.testdir({ run: {} })
  const health = join(storeDir, 'run', 'health.json')
  const stateOf = (text: string): string => {
    writeFileSync(health, text)
    return producerState({ eventsDir: join(storeDir, 'events'), storeDir }).state
  }
  const inbox = { persona: 'x'.repeat(limits.personaNameBytesMax), state: 'up', reason: 'x'.repeat(500) }
  const personas = Array.from({ length: limits.personasMax }, () => inbox)
  t.equal(stateOf(JSON.stringify({ pid: process.pid, personas })), 'up')
  for (const text of ['[]', '3', 'null', '{"pid"']) t.equal(stateOf(text), 'unknown', text)
})

t.test('look - a terminal of unknown size is taken for one of 80 columns', async t => {
  const { raw } = message(1, { summary: 'x'.repeat(200) })
  const events = t.testdir({ 'seg-00000001.jsonl': `${JSON.stringify(raw)}\n` })
  const shown = async (columns: number): Promise<string> => {
    const stdout = Object.assign(new PassThrough(), { isTTY: true, columns })
    const io = { stdout, stderr: new PassThrough(), env: {}, signal: new AbortController().signal }
    t.equal(await runProgram(tailProgram, ['--events', events, '--no-color'], io), 0)
    return String(stdout.read())
  }
  t.equal(await shown(0), await shown(80))
})

t.test(
  'look - D1 a terminal gets the time of day, the date of another day, and whole texts with --full',
  async t => {
    const payload = { ...message(1).payload, content: 'x'.repeat(200) }
    const raw = (seq: number): string => JSON.stringify(message(seq, { payload }).raw)
    const events = t.testdir({ 'seg-00000001.jsonl': `${raw(1)}\n${raw(2)}\n` })
    const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
    const io = { stdout, stderr: new PassThrough(), env: {}, signal: new AbortController().signal }
    t.equal(await runProgram(tailProgram, ['--events', events, '--no-color', '--utc', '--full'], io), 0)
    const [date, ...lines] = String(stdout.read()).trimEnd().split('\n')
    t.equal(date, '-- 2026-06-10')
    t.same(
      lines.map(line => line.slice(0, 10)),
      ['14:03:22 1', '14:03:22 2'],
    )
    for (const line of lines) t.match(line, / argus: x{200}$/)
  },
)

t.test('look - an empty selection is reported on a terminal only', async t => {
  const events = t.testdir({ 'seg-00000001.jsonl': '' })
  const said = async (isTTY: boolean, ...args: string[]): Promise<string> => {
    const stderr = Object.assign(new PassThrough(), { isTTY })
    const io = { stdout: new PassThrough(), stderr, env: {}, signal: new AbortController().signal }
    t.equal(
      await runProgram(tailProgram, args.includes('--events') ? args : ['--events', events, ...args], io),
      0,
    )
    return String(stderr.read() ?? '')
  }
  t.equal(await said(true), 'kim-tail: no existing record is selected\n')
  const notes = t.testdir({ 'seg-00000001.jsonl': `${JSON.stringify(record(1).raw)}\n` })
  t.match(
    await said(true, '--events', notes),
    /selected; to print changes and notes too: --all-records\n$/,
    'B11',
  )
  t.equal(await said(true, '--events', notes, '--all-records'), '')
  t.equal(await said(true, '-q'), '')
  t.equal(await said(true, '-n', '0'), '')
  t.equal(await said(false), '')
  t.equal(await said(true, '-o', 'agent'), '')
})
