import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openObserver, openTail, type RecordTail } from '@kim/observer-sdk'
import t from 'tap'

const vectors = fileURLToPath(new URL('../../../spec/vectors/', import.meta.url))

/** Everything that is handed over until nothing more is at hand. */
async function handedOver(
  opened: RecordTail,
): Promise<{ readonly records: string[]; readonly gaps: unknown[]; readonly cursor: unknown }> {
  const records: string[] = []
  const gaps: unknown[] = []
  let cursor: unknown
  const isIdle = new Promise<undefined>(resolve => {
    opened.onIdle(() => resolve(undefined))
  })
  const changes = opened.changes()
  for (;;) {
    const change = await Promise.race([changes.next(), isIdle])
    if (change === undefined || change.done === true) break
    records.push(...change.value.records.map(({ raw }) => JSON.stringify(raw)))
    if (change.value.gap !== undefined) gaps.push(change.value.gap)
    const { seq, writer } = change.value.cursor
    cursor = { seq, writer }
  }
  await opened.close()
  return { records, gaps, cursor }
}

t.test('tail - OB-44 OB-71 hands over what an observer does, from every place', async t => {
  const differing: string[] = []
  let seen = 0
  for (const name of readdirSync(vectors)) {
    const eventsDir = join(vectors, name, 'events')
    if (!existsSync(eventsDir)) continue
    const file = join(vectors, name, 'cursor.json')
    const stored: unknown = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
    const cursors = { load: () => stored, save: () => undefined }
    const options = { eventsDir, cursors, from: 'start' } as const
    const observer = await handedOver(await openObserver(options))
    const tail = await handedOver(await openTail(options))
    seen++
    if (JSON.stringify(observer) !== JSON.stringify(tail)) differing.push(name)
    if (process.env['KIM_SHOW'] === name) t.same(tail, observer)
  }
  t.ok(seen > 200, `${seen} journals`)
  t.same(differing, [])
})
