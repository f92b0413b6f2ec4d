import { join } from 'node:path'
import { memoryCursors, type Observer, openObserver } from '@kim/observer-sdk'
import { type Draft, type Journal, openJournal } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { followMail } from '../dist/tasks/follow-mail.js'
import { recordsBetween } from '../dist/tasks/read-between.js'
import { handleEach } from '../dist/tasks/remember-place.js'
import { showBoard } from '../dist/tasks/show-board.js'
import { showWaiting } from '../dist/tasks/show-waiting.js'

interface Scene {
  readonly eventsDir: string
  readonly journal: Journal
  /** The time by the writer's clock. */
  wallMs: number
}

function scene(t: Test): Scene {
  const storeDir = join(t.testdir(), 'store')
  const time = { wallMs: Date.UTC(2026, 5, 10, 14) }
  const clock = { wallMs: () => time.wallMs, monoMs: () => performance.now() }
  const journal = openJournal({ storeDir, source: 'http://localhost:7474', clock })
  t.teardown(() => journal.close())
  return Object.assign(time, { eventsDir: join(storeDir, 'events'), journal })
}

async function observe(t: Test, { eventsDir }: Scene): Promise<Observer> {
  const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
  t.teardown(() => observer.close())
  return observer
}

function mail(persona: string, id: number, content: string): Draft {
  const created = '2026-06-10T14:03:21Z'
  return {
    agent: persona,
    action: 'create',
    event: 'new',
    item_type: 'message',
    item_id: `${persona}/${id}`,
    summary: `from argus: ${content}`,
    payload: {
      schema_version: 1,
      ...{ persona, id, from: 'argus', content, content_length: content.length, created, read: false },
    },
  }
}

function alert(status: 'open' | 'cleared'): Draft {
  const payload = { schema_version: 1, kind: 'unreachable', persona: 'river', status, reason: 'no answer' }
  return {
    agent: 'river',
    action: 'update',
    item_type: 'alert',
    item_id: 'river/unreachable',
    summary: '',
    payload,
  }
}

function persona(name: string): Draft {
  const payload = { persona: name, cursor: 0, floor: 0, state: 'up', watched: true, unread_urgent: 0 }
  return {
    agent: name,
    action: 'create',
    item_type: 'persona',
    item_id: name,
    summary: name,
    payload: { schema_version: 1, ...payload },
  }
}

t.test('tasks - the board is drawn at once, and again when a part of it changed', async t => {
  const all = scene(t)
  const observer = await observe(t, all)
  const drawn: (readonly string[])[] = []
  const stop = showBoard(observer, lines => drawn.push(lines))
  t.equal(drawn.length, 1)
  all.journal.append([mail('river', 1, 'hi')])
  await observer.waitFor(all.journal.head.seq)
  while (!drawn.at(-1)?.includes('inbox: 1')) await new Promise(resolve => setImmediate(resolve))
  stop()
  t.ok(drawn.length > 1)
})

t.test('tasks - the mail of one persona is followed, without what a terminal obeys', async t => {
  const { eventsDir, journal } = scene(t)
  const stop = new AbortController()
  const shown: string[] = []
  const ended = followMail(
    eventsDir,
    'river',
    line => {
      shown.push(line)
      if (line.endsWith('end')) stop.abort()
    },
    stop.signal,
  )
  // A tail begins with what comes after it was opened.
  const telling = setInterval(() => {
    journal.append(
      [mail('loom', 1, 'not for river'), mail('river', 1, 'a\u001b[2J'), mail('river', 2, 'end')],
      {
        tx: true,
      },
    )
  }, 20)
  await ended
  clearInterval(telling)
  t.same(shown.slice(-2), ['argus: a\\x1b[2J', 'argus: end'])
  t.notMatch(shown.join('\n'), /not for river/)
})

t.test(
  'tasks - the place is kept in the storage of the editor: what was not handled comes again',
  async t => {
    const { eventsDir, journal } = scene(t)
    const kept = new Map<string, unknown>()
    const storage = {
      get: (key: string) => kept.get(key),
      update: async (key: string, value: unknown) => void kept.set(key, value),
    }
    const run = async (last: string, fails = false): Promise<(string | undefined)[]> => {
      const stop = new AbortController()
      const handled: (string | undefined)[] = []
      const ended = handleEach(
        eventsDir,
        storage,
        async ({ item_id }) => {
          if (fails) throw new RangeError('not now')
          handled.push(item_id)
          if (item_id === last) setImmediate(() => stop.abort())
        },
        stop.signal,
      )
      await (fails ? t.rejects(ended, { message: 'not now' }) : ended)
      return handled
    }
    journal.append([mail('river', 1, 'one')])
    await run('river/1', true)
    t.same(await run('river/1'), ['river/1'], 'what was not handled')
    journal.append([mail('river', 2, 'two')])
    t.same((await run('river/2')).at(-1), 'river/2')
  },
)

t.test('tasks - what waits for a person is shown, and when it no longer does', async t => {
  const all = scene(t)
  all.journal.append([persona('river')])
  const observer = await observe(t, all)
  const shown: (readonly string[])[] = []
  const stop = showWaiting(observer, lines => shown.push(lines))
  const until = async (count: number): Promise<void> => {
    while (shown.length < count) await new Promise(resolve => setImmediate(resolve))
  }
  all.journal.append([alert('open')])
  await until(2)
  all.journal.append([mail('river', 1, 'waits for no person'), alert('cleared')])
  await until(3)
  stop()
  t.same(shown, [['0 in all'], ['1 in all', 'river/unreachable: no answer'], ['0 in all']])
})

t.test('tasks - the records between two times are read, the second time excluded', t => {
  const all = scene(t)
  const start = all.wallMs
  for (const [id, minutes] of [
    [1, 1],
    [2, 2],
    [3, 1.5],
    [4, 3],
  ] as const) {
    all.wallMs = start + minutes * 60_000
    all.journal.append([mail('river', id, 'hi')])
  }
  const between = (from: number, to: number): (string | undefined)[] => {
    const at = (minutes: number): Date => new Date(start + minutes * 60_000)
    return Array.from(recordsBetween(all.eventsDir, at(from), at(to)), ({ item_id }) => item_id)
  }
  t.same(between(1, 3), ['river/1', 'river/2', 'river/3'])
  t.same(between(1.2, 1.8), ['river/3'], 'also if the clock was set back before it')
  t.same(between(4, 5), [])
  t.end()
})
