/**
 * The least that can be done: hold the long poll, ask for the inbox whose count rose, write a line, sync it. No walk, no
 * watermark, no health. What stands beside it is `tail -F`.
 */
import { fdatasyncSync, openSync, writeSync } from 'node:fs'
import { Agent, get } from 'node:http'

const [url = '', path = ''] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true })

interface Row {
  readonly id: number
}

interface Counts {
  readonly result: readonly { readonly persona: string; readonly unread: number }[]
  readonly cursor: string
}

function ask(path: string): Promise<unknown> {
  const headers = { 'user-agent': 'bare/1' }
  return new Promise((resolve, reject) => {
    get(new URL(path, url), { agent, headers }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve(JSON.parse(text)))
    }).on('error', reject)
  })
}

const fd = openSync(path, 'a')
process.once('disconnect', () => process.exit(0))
const unread = new Map<string, number>()
const highest = new Map<string, number>()

async function poll(persona: string, isFirst: boolean): Promise<void> {
  const query = `persona=${encodeURIComponent(persona)}&mark_read=false`
  const { result } = (await ask(`/api/inbox?${query}`)) as { result: readonly Row[] }
  const known = highest.get(persona) ?? 0
  const fresh = result.filter(({ id }) => id > known).sort((a, b) => a.id - b.id)
  highest.set(persona, Math.max(known, fresh.at(-1)?.id ?? 0))
  if (isFirst || fresh.length === 0) return
  writeSync(fd, fresh.map(row => `${JSON.stringify({ persona, ...row })}\n`).join(''))
  fdatasyncSync(fd)
}

let cursor = ''
for (let isFirst = true; ; isFirst = false) {
  const query = `wait=50${cursor === '' ? '' : `&cursor=${cursor}`}`
  const counts = (await ask(`/api/notify/pending?${query}`)) as Counts
  cursor = counts.cursor
  const rose = counts.result.filter(row => row.unread > (unread.get(row.persona) ?? 0))
  for (const row of counts.result) unread.set(row.persona, row.unread)
  await Promise.all(rose.map(({ persona }) => poll(persona, isFirst)))
  if (isFirst) process.send?.('ready')
}
