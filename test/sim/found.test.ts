import { constants } from 'node:fs'
import { sha256Hex } from '@kim/manifest'
import { type Draft, type Journal, type JournalOptions, openJournal } from '@kim/producer/internal'
import t from 'tap'
import { Prng, readNaively, SimClock, SimFs, SimLock } from '../kit/index.js'
import { eventsDir, storeDir } from './store-dir.js'

/** What the simulation found, each as the shortest story that shows it. */
interface Desk {
  readonly fs: SimFs
  readonly journal: Journal
}

function sit(options: Partial<JournalOptions> = {}, fs: SimFs = new SimFs()): Desk {
  fs.plantDir('/kim')
  const host = { pid: 7, uid: fs.uid, startKey: 'sim:7', node: 'v20.0.0', platform: 'linux-x64' }
  const effects = { fs, host, clock: new SimClock(), lock: new SimLock(), random: new Prng(7) }
  return { fs, journal: openJournal({ storeDir, source: 'http://localhost:7474', ...effects, ...options }) }
}

const firstSegment = `${eventsDir}/seg-00000001.jsonl`

/** Runs a step that a full disk may refuse. */
function attempt(step: () => void): void {
  try {
    step()
  } catch (error) {
    if ((error as { code?: string }).code !== 'store_full') throw error
  }
}

const gate = (n: number, key?: string): Draft => ({
  ...{ agent: 'river', action: 'update', item_type: 'gate', item_id: `g${n}`, summary: `#${n}` },
  payload: { schema_version: 1, n },
  ...(key === undefined ? {} : { key }),
})

const message = (id: number): Draft => ({
  ...{ agent: 'river', action: 'create', item_type: 'message', item_id: `river/${id}`, summary: `#${id}` },
  payload: {
    ...{ schema_version: 1, persona: 'river', id, from: null, content_length: 0, created: null, read: true },
  },
})

const persona: Draft = {
  ...{ agent: 'river', action: 'update', item_type: 'persona', item_id: 'river', summary: 'river is up' },
  payload: {
    ...{
      schema_version: 1,
      persona: 'river',
      cursor: 0,
      floor: 0,
      state: 'up',
      watched: true,
      unread_urgent: 0,
    },
  },
}

t.test('transaction - a key that repeats in it is one record of it', async t => {
  const { fs, journal } = sit()
  const { seqs, deduped } = journal.append([gate(1, 'k'), gate(2, 'k'), gate(3)], { tx: true })
  t.same(
    [seqs, deduped],
    [
      [2, 2, 3],
      [false, true, false],
    ],
  )
  const stood = readNaively(fs.files(eventsDir)).map(({ seq, tx }) => [seq, tx?.i, tx?.n])
  t.same(stood, [
    [1, undefined, undefined],
    [2, 1, 2],
    [3, 2, 2],
  ])
})

t.test('retention - what a full disk kept from being appended is done at the next roll', async t => {
  const { fs, journal } = sit({ retainRead: 1 })
  journal.append([persona, message(1), message(2), message(3)])
  fs.freeBytes = 0
  t.throws(() => journal.roll(), { code: 'store_full' })
  fs.freeBytes = Number.POSITIVE_INFINITY
  journal.roll()
  t.same(
    [...journal.state.values('message')].map(({ item_id }) => item_id),
    ['river/3'],
  )
})

t.test('retention - a journal that cannot read what it retires refuses everything', async t => {
  const { fs, journal } = sit({ retainRead: 1 })
  journal.append([persona, message(1), message(2), message(3)])
  fs.failWhen(({ name }) => (name === 'read' ? { kind: 'error', code: 'EIO' } : undefined))
  t.throws(() => journal.roll(), { code: 'store_failed' })
  t.throws(() => journal.append([gate(1)]), { code: 'journal_closed' })
})

t.test('roll - a segment that somebody else wrote to is not sealed', async t => {
  const { fs, journal } = sit()
  journal.append([gate(1)])
  const fd = fs.openSync(`${eventsDir}/seg-00000001.jsonl`, constants.O_WRONLY | constants.O_APPEND)
  fs.writeSync(fd, new Uint8Array([0x7b]))
  fs.closeSync(fd)
  t.throws(() => journal.roll(), { code: 'store_fenced' })
  t.notOk(fs.peek(`${eventsDir}/seg-00000003.jsonl`))
})

t.test('seal - what fits on a disk that is full again and again is hashed and counted once', async t => {
  let settledInParts = 0
  for (let first = 1; first < 2000; first += 90) {
    for (let second = 1; second < 1500; second += 90) {
      const fs = new SimFs()
      fs.freeBytes = first
      const { journal } = sit({}, fs)
      const parts = new Set<number>()
      for (const free of [second, second + 200]) {
        if (journal.isSettled) break
        fs.freeBytes = free
        attempt(() => journal.settle())
        parts.add(fs.peek(firstSegment)?.length ?? 0)
      }
      if (parts.size > 1) settledInParts++
      fs.freeBytes = Number.POSITIVE_INFINITY
      journal.append([gate(1)])
      journal.roll()
      const stood = readNaively(fs.files(eventsDir))
      const story = `${first} bytes, then ${second}`
      if (!stood.every(({ seq }, at) => seq === at + 1)) t.fail(`a number is missing or repeated: ${story}`)
      const sealed = stood.at(-1)?.raw['payload'] as { sha256?: string } | undefined
      if (sealed?.sha256 !== sha256Hex(fs.peek(firstSegment) ?? '')) t.fail(`the seal is wrong: ${story}`)
      journal.close()
    }
  }
  t.ok(settledInParts > 10, `${settledInParts} were settled in parts`)
})

t.test('gc - one that is asked for ends the one that is under way', async t => {
  const { fs, journal } = sit({ gc: false })
  for (const n of [1, 2, 3]) {
    journal.append([gate(n)])
    journal.checkpoint()
  }
  journal.close()
  // Each slice of the gc that is due on open meets one that is asked for.
  for (let slices = 0; slices < 12; slices++) {
    const { journal: next } = sit({}, fs.restart())
    for (let n = 0; n < slices; n++) next.upkeep()
    next.gc()
    while (next.upkeep()) t.notOk(next.failure)
    next.append([gate(4)])
    next.checkpoint()
    t.equal(next.failure, undefined)
    next.close()
  }
})
