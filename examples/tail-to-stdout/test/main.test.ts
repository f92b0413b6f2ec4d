import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openJournal } from '@kim/producer/internal'
import t from 'tap'

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))

/** Runs the example until it has printed a line that ends so, then stops it as Ctrl-C does. */
async function lines(args: readonly string[], end: string): Promise<{ code: number | null; text: string }> {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  const stop = setTimeout(() => child.kill('SIGINT'), 20_000)
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    if (text.endsWith(`${end}\n`) && !child.killed) child.kill('SIGINT')
  })
  const code = await new Promise<number | null>(resolve => child.on('close', resolve))
  clearTimeout(stop)
  return { code, text }
}

t.test('tail-to-stdout - prints what is announced, escaped, and goes on where it stopped', async t => {
  const dir = t.testdir({ cursors: {} })
  const storeDir = join(dir, 'store')
  const eventsDir = join(storeDir, 'events')
  const cursors = join(dir, 'cursors')
  const journal = openJournal({ storeDir, source: 'http://localhost:7474' })
  t.teardown(() => journal.close())
  const announce = (summary: string): void => {
    journal.append([
      { agent: 'river', action: 'session_start', item_type: 'session', item_id: 'a', event: 'new', summary },
    ])
  }
  // Until it looks, nothing is handed over: it is told again and again, and stops at the first line.
  const telling = setInterval(() => announce('one\nriver new "forged"'), 50)
  const first = await lines([eventsDir, cursors], '"')
  clearInterval(telling)
  t.equal(first.code, 0)
  t.match(first.text, /^\d+ "river" "new" "one\\nriver new \\"forged\\""\n/)

  announce('two')
  const { seq } = journal.head
  const second = await lines([eventsDir, cursors], '"two"')
  const seqsOf = (text: string): number[] =>
    text
      .trimEnd()
      .split('\n')
      .map(line => Number.parseInt(line, 10))
  const seqs = seqsOf(second.text)
  t.match(second.text, new RegExp(`(^|\\n)${seq} "river" "new" "two"\\n$`))
  t.ok((seqs[0] ?? 0) <= (seqsOf(first.text).at(-1) ?? 0) + 1, 'nothing in between is missed')
  t.same(
    seqs,
    Array.from(seqs, (_, at) => seq - seqs.length + 1 + at),
  )
})

t.test(
  'tail-to-stdout - CL-9 no text of a record moves a cursor, turns a line around or passes for another field',
  async t => {
    const dir = t.testdir({ cursors: {} })
    const storeDir = join(dir, 'store')
    const journal = openJournal({ storeDir, source: 'http://localhost:7474' })
    t.teardown(() => journal.close())
    const news = (agent: string, summary: string) =>
      ({ agent, action: 'session_start', item_type: 'session', item_id: 'a', event: 'new', summary }) as const
    // In one commit: a reader that starts between two of them would see the end alone.
    const telling = setInterval(() => {
      journal.append([
        news('river new "paid"\n9 river new "forged"\u001b[2J', 'a\u202eb\u009b31mc\u2066d\u2028e\u{e0041}'),
        news('river', 'end'),
      ])
    }, 50)
    const { text } = await lines([join(storeDir, 'events'), join(dir, 'cursors')], '"end"')
    clearInterval(telling)
    t.notMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    const forged = text.split('\n').filter(line => !/^\d+ "river" "new" "end"$|^$/.test(line))
    t.ok(forged.length > 0)
    for (const line of forged) t.match(line, /^\d+ "river new \\"paid\\"\\n9 river new \\"forged\\"/)
  },
)

t.test('tail-to-stdout - without a directory says how it is used', async t => {
  const child = spawn(process.execPath, [main], { stdio: 'ignore' })
  t.equal(await new Promise(resolve => child.on('close', resolve)), 2)
})
