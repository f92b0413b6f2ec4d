import { spawnSync } from 'node:child_process'
import { PassThrough } from 'node:stream'
import {
  formatBytes,
  formatDuration,
  parseBytes,
  parseDuration,
  progressLine,
  safeJson,
  safeText,
  shellWord,
  startProgress,
  suggest,
} from '@kim/cli-kit'
import fc from 'fast-check'
import t from 'tap'

t.test(
  'text - nothing in a message can move the cursor, forge a line or reverse the reading order',
  async t => {
    t.equal(safeText('plain – ünïcode 🙂'), 'plain – ünïcode 🙂')
    t.equal(safeText('a\nseq=9 forged'), 'a\\nseq=9 forged')
    t.equal(safeText('\u001b[2J\u0007'), '\\x1b[2J\\x07')
    t.equal(safeText('\u009b31m'), '\\x9b31m')
    t.equal(safeText('abc\u202etxt'), 'abc\\u202etxt')
    t.equal(safeText('\u2028\u2029'), '\\u2028\\u2029')
    t.equal(safeText('\ud800x'), '\\ud800x')
    t.equal(safeText('x\udc00'), 'x\\udc00')
    t.equal(safeText('\u{e0041}'), '\\u{e0041}')
    for (const hidden of [
      '\u3164',
      '\uffa0',
      '\u{1bca0}',
      '\u{1d173}',
      '\u{13430}',
      '\u{e0100}',
      '\u034f',
      '\u2800',
    ])
      t.match(safeText(`a${hidden}b`), /^a\\u\{?[\da-f]+\}?b$/, 'CL-9 invisible')
    t.equal(safeText('❤\ufe0f \u0600'), '❤\ufe0f \u0600', 'what is seen stays')
    // Half a byte each: a run of them carries any text, unseen.
    t.equal(safeText('a\ufe04\ufe08\ufe06b'), 'a\ufe04\\ufe08\\ufe06b', 'one for one sign')
    t.equal(safeText('\ufe0fa \ufe00'), '\\ufe0fa \\ufe00', 'and none where there is no sign')
    t.equal(safeJson('"a\ufe04\ufe08 \ufe06"'), '"a\ufe04\\ufe08 \\ufe06"')
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        return !/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/.test(safeText(text))
      }),
      { numRuns: 5000 },
    )
  },
)

t.test('durations - are read and shown', async t => {
  for (const [text, ms] of Object.entries({
    '15': 15_000,
    '250ms': 250,
    '1.5s': 1500,
    '5m': 300_000,
    '1h30m': 5_400_000,
    '2d': 172_800_000,
  })) {
    t.equal(parseDuration(text), ms, text)
  }
  for (const text of ['', 'soon', '5x', '-5s', '5 m']) t.equal(parseDuration(text), undefined, text)
  t.equal(formatDuration(350), '350ms')
  t.equal(formatDuration(4200), '4.2s')
  t.equal(formatDuration(190_000), '3m 10s')
  t.equal(formatDuration(7_500_000), '2h 5m')
  t.equal(formatDuration(4 * 86_400_000 + 3 * 3_600_000), '4d 3h')
})

t.test('sizes - are read and shown', async t => {
  for (const [text, bytes] of Object.entries({
    '4096': 4096,
    '64K': 65_536,
    '10MiB': 10_485_760,
    '1GB': 1e9,
  })) {
    t.equal(parseBytes(text), bytes, text)
  }
  for (const text of ['', 'big', '10 XB', '-1']) t.equal(parseBytes(text), undefined, text)
  t.equal(formatBytes(512), '512 B')
  t.equal(formatBytes(1536), '1.5 KiB')
  t.equal(formatBytes(10 * 1024 ** 2), '10.0 MiB')
})

t.test('suggestion - the nearest word, or none', async t => {
  t.equal(suggest('rivr', ['river', 'argus']), 'river')
  t.equal(suggest('RIVER', ['river', 'argus']), 'river')
  t.equal(suggest('zzz', ['river', 'argus']), undefined)
})

t.test('progress - shows share, rate and time left on a terminal and nothing in a pipe, CL-17', async t => {
  t.equal(
    progressLine('verify', 'bytes', 1024 ** 2, 4 * 1024 ** 2, 1000),
    'verify 25% (1.0 MiB of 4.0 MiB, 1.0 MiB/s, 3.0s left)',
  )
  t.equal(progressLine('replay', 'records', 10, 10, 1000), 'replay 100% (10 of 10, 10 records/s)')
  t.equal(progressLine('verify', 'bytes', 0, 0, 0), 'verify 100% (0 B of 0 B, 0 B/s)')
  const pipe = new PassThrough()
  const silent = startProgress({ label: 'x', unit: 'bytes', stream: pipe })
  silent.update(1, 2)
  silent.end()
  t.equal(pipe.read(), null)
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 40 })
  let now = 0
  const shown = startProgress({ label: 'x', unit: 'bytes', stream: terminal, now: () => now })
  now = 1000
  shown.update(1, 2)
  now = 1001
  shown.update(2, 2)
  shown.end()
  let drawn = ''
  for (let chunk = terminal.read(); chunk !== null; chunk = terminal.read()) drawn += String(chunk)
  t.match(drawn, /x 50%/)
  t.notMatch(drawn, /100%/, 'redraws are spaced')
  t.ok(drawn.endsWith('\r\u001b[K'), 'the line is cleared at the end')
})

t.test('shellWord - a name is one word of a shell, whatever is in it', async t => {
  t.equal(shellWord('/a/b-c_d.e/river@home'), '/a/b-c_d.e/river@home')
  for (const name of ['', 'a b', "river's", '$(x)', '`x`;y', '~x', 'a\nb', '-*']) {
    const { stdout } = spawnSync('sh', ['-c', `printf %s ${shellWord(name)}`], { encoding: 'utf8' })
    t.equal(stdout, name)
  }
})
