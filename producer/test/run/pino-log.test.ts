import { pinoLog, terminalLog } from '@kim/producer/internal'
import t from 'tap'

t.test('CL-16 log - D2: at a terminal it is text, with the hint on a line of its own', async t => {
  const lines: string[] = []
  const log = terminalLog({ write: line => void lines.push(line) })
  log({ level: 'info', code: 'started', message: 'kim writes a store', fields: { pid: 7 } })
  log({
    level: 'warn',
    code: 'x',
    message: 'it\u001b[2J is full',
    hint: 'look\n',
    persona: 'river',
    fields: { n: 1 },
  })
  log({ level: 'error', code: 'y', message: 'river is gone', persona: 'river' })
  const text = lines.join('').replaceAll(/^\d\d:\d\d:\d\d /gm, 'T ')
  t.equal(
    text,
    'T kim writes a store\nT warn: river: it\\x1b[2J is full (n=1)\n  look\\n\nT error: river is gone\n',
  )
})

t.test('CL-16 log - is one JSON object a line, with its code', async t => {
  const lines: string[] = []
  const log = pinoLog({ write: line => void lines.push(line) })
  log({
    level: 'warn',
    code: 'tightened',
    message: 'it is 0600 now',
    hint: 'look',
    persona: 'river',
    fields: { n: 1 },
  })
  log({ level: 'fatal', code: 'store_failed', message: 'EIO' })
  t.equal(lines.join('').split('\n').length, 3)
  t.match(JSON.parse(lines[0] ?? ''), {
    level: 'warn',
    time: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
    code: 'tightened',
    persona: 'river',
    n: 1,
    hint: 'look',
    msg: 'it is 0600 now',
  })
  t.match(JSON.parse(lines[1] ?? ''), { level: 'fatal', code: 'store_failed', msg: 'EIO' })
})

t.test('CL-9 log - what a server said cannot move the cursor of a terminal', async t => {
  const lines: string[] = []
  const log = pinoLog({ write: line => void lines.push(line) })
  log({
    level: 'info',
    code: 'x',
    message: 'a\u001b[2J\u009b1mb\nc',
    persona: 'ri\u202ever',
    fields: { output: '\u202e\u009b' },
  })
  t.notMatch(lines.join(''), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
})
