import { Buffer } from 'node:buffer'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { KimError } from '@kim/manifest'
import { retryDelayMs, type StoreLock } from '@kim/producer/internal'
import t from 'tap'
import { message, messages, TestStore, throwsCode } from '../kit/store.js'

for (const code of ['ENOSPC', 'EDQUOT'] as const) {
  t.test(
    `full disk - ${code} gives no receipt, and the journal goes on when space returns (JF-86)`,
    async t => {
      const store = new TestStore(t)
      const journal = store.open()
      journal.append([message(1)])
      store.fs.break('writeSync', '.jsonl', code)
      throwsCode(t, 'store_full', () => journal.append([message(2)]))
      t.equal(journal.isSettled, false)
      throwsCode(t, 'store_full', () => journal.append([message(2)]), 'as long as it lasts')
      store.fs.heal()
      t.same(journal.append([message(2)]).seqs, [3], 'nothing was left standing')
      t.equal(journal.isSettled, true)
      journal.close()
      await store.verified(t)
    },
  )
}

t.test(
  'full disk - a line cut off is ended and adjudicated, and nothing of it is appended twice (RC-10)',
  async t => {
    const store = new TestStore(t)
    const journal = store.open()
    journal.append([message(1)])
    store.fs.break('writeSync', '.jsonl', 100)
    throwsCode(t, 'store_full', () => journal.append([message(2)]))
    store.fs.heal()
    t.same(journal.append([message(2)]).seqs, [4], 'the note comes first')
    journal.close()
    t.match(store.notes('torn_tail_adjudicated'), [{ seq: 3, payload: { segment: 'seg-00000001.jsonl' } }])
    t.same(await store.verified(t), ['adjudicated'])
  },
)

t.test(
  'full disk - whole lines that reached the file are records, and the caller hears of them once (RC-10)',
  async t => {
    const store = new TestStore(t)
    const journal = store.open()
    journal.append([message(1)])
    const line = readFileSync(store.segment(), 'utf8').split('\n').at(-2)?.length ?? 0
    store.fs.break('writeSync', '.jsonl', 2 * line + 20)
    throwsCode(t, 'store_full', () => journal.append(messages(2, 5)))
    store.fs.heal()
    throwsCode(t, 'journal_moved', () => journal.append(messages(2, 5)))
    t.match(
      journal.state.get('message', 'river/3'),
      { seq: 4, payload: { id: 3 } },
      'state is derived with them',
    )
    t.equal(journal.state.get('message', 'river/4'), undefined)
    t.same(journal.append(messages(4, 5)).seqs, [6, 7])
    journal.close()
    const ids = store.lines().filter(({ item_type }) => item_type === 'message')
    t.same(
      ids.map(({ item_id }) => item_id),
      ['river/1', 'river/2', 'river/3', 'river/4', 'river/5'],
    )
    await store.verified(t)
  },
)

t.test('full disk - settle says what was written, and keyed drafts need not be derived again', async t => {
  const store = new TestStore(t)
  const journal = store.open()
  journal.append([message(1)])
  const keyed = [message(2, { key: 'a' }), message(3, { key: 'b' })]
  const cutBehindFirst = (): void => {
    store.fs.fault = ({ name, path }) => (name === 'writeSync' && path.endsWith('.jsonl') ? 420 : undefined)
  }
  cutBehindFirst()
  throwsCode(t, 'store_full', () => journal.append(keyed))
  store.fs.heal()
  t.same(journal.append(keyed).deduped, [true, false])
  t.equal(journal.settle().length, 1, 'it stays news until somebody without a key was told')
  cutBehindFirst()
  throwsCode(t, 'store_full', () => journal.append(messages(10, 11)))
  store.fs.heal()
  t.equal(journal.settle().length, 1)
  t.same(journal.settle(), [])
  t.doesNotThrow(() => journal.append([message(12)]))
  journal.close()
  await store.verified(t)
})

t.test('full disk - a transaction cut off has no effect and is named (T4 to T6)', async t => {
  const store = new TestStore(t)
  const journal = store.open()
  journal.append([message(1)])
  store.fs.break('writeSync', '.jsonl', 900)
  throwsCode(t, 'store_full', () => journal.append(messages(2, 5), { tx: true }))
  store.fs.heal()
  t.same(journal.settle(), [])
  t.equal(journal.state.size, 1)
  t.doesNotThrow(() => journal.append(messages(2, 5), { tx: true }))
  journal.close()
  t.equal(store.notes('tx_abandoned').length, 1)
  t.equal(store.notes('torn_tail_adjudicated').length, 1)
  await store.verified(t)
})

t.test('full disk - an open succeeds and appends when it can (RC-8)', async t => {
  const store = new TestStore(t)
  store.with(journal => journal.append([message(1)]))
  store.scribble('{"action":"cre')
  store.fs.break('writeSync', '', 'ENOSPC')
  const journal = store.open()
  t.equal(journal.isSettled, false)
  t.equal(journal.state.size, 1)
  t.ok(store.logged.some(({ code }) => code === 'opened_full'))
  throwsCode(t, 'store_full', () => journal.append([message(2)]))
  store.fs.heal()
  t.same(journal.append([message(2)]).seqs, [4])
  journal.close()
  await store.verified(t)
})

t.test('full disk - a roll and a checkpoint wait, an append does not', async t => {
  const store = new TestStore(t)
  const journal = store.open({ segmentBytes: 1200 })
  store.fs.fault = ({ name, path }) =>
    name === 'openSync' && /seg-0*[2-9]/.test(path) ? 'ENOSPC' : undefined
  for (let n = 1; n <= 4; n++) t.same(journal.append([message(n)]).seqs, [n + 1])
  t.equal(store.segments().length, 1)
  store.fs.fault = ({ path }) => (path.includes('ckpt-') ? 'ENOSPC' : undefined)
  t.same(journal.append([message(5)]).seqs, [6])
  t.equal(store.segments().length, 2)
  while (journal.upkeep()) t.equal(journal.failure, undefined)
  t.ok(store.logged.some(({ code }) => code === 'checkpoint_put_off'))
  store.fs.heal()
  t.equal(journal.upkeep(), false, 'not again at once')
  store.clock.mono += 30_000
  while (journal.upkeep()) t.equal(journal.failure, undefined)
  t.equal(store.checkpoints().length, 1)
  journal.close()
  await store.verified(t)
})

const fatal: { name: 'writeSync' | 'fdatasyncSync'; code: string; as: string; hint?: RegExp }[] = [
  { name: 'writeSync', code: 'EIO', as: 'store_failed' },
  { name: 'writeSync', code: 'EFBIG', as: 'store_failed', hint: /ulimit -f.*LimitFSIZE.*--segment-bytes/ },
  { name: 'writeSync', code: 'EROFS', as: 'store_failed' },
  { name: 'fdatasyncSync', code: 'EIO', as: 'store_failed' },
  { name: 'fdatasyncSync', code: 'ENOSPC', as: 'store_failed' },
]
for (const { name, code, as, hint = /./ } of fatal) {
  t.test(`fault - ${code} from ${name} is the end of this process's journal (JF-86)`, async t => {
    const store = new TestStore(t)
    const journal = store.open()
    journal.append([message(1)])
    store.fs.break(name, '.jsonl', code)
    t.throws(() => journal.append([message(2)]), { code: as, exitCode: 1, hint })
    store.fs.heal()
    throwsCode(t, 'journal_closed', () => journal.append([message(2)]), 'it refuses everything afterwards')
    throwsCode(t, 'journal_closed', () => journal.roll())
    t.ok(journal.failure instanceof KimError)
    journal.close()
    store.with(next => t.ok(next.state.get('message', 'river/1'), 'what was acknowledged is there'))
    await store.verified(t)
  })
}

const intruders: { what: string; meddle: (store: TestStore) => void }[] = [
  { what: 'longer', meddle: store => store.scribble('\n') },
  {
    what: 'shorter',
    meddle: store => writeFileSync(store.segment(), readFileSync(store.segment()).subarray(0, -5)),
  },
  { what: 'gone', meddle: store => rmSync(store.segment()) },
  {
    what: 'replaced',
    meddle: store => {
      const bytes = readFileSync(store.segment())
      renameSync(store.segment(), `${store.segment()}~`)
      writeFileSync(store.segment(), bytes)
    },
  },
  { what: 'without its lock', meddle: store => rmSync(store.paths.lock) },
]
for (const { what, meddle } of intruders) {
  t.test(`fence - a store that is ${what} is not written to (JF-85)`, async t => {
    const store = new TestStore(t)
    const journal = store.open()
    journal.append([message(1)])
    meddle(store)
    throwsCode(t, 'store_fenced', () => journal.append([message(2)]))
    throwsCode(t, 'journal_closed', () => journal.append([message(2)]))
    t.notMatch(
      store.lines().map(({ item_id }) => item_id),
      ['river/2'],
    )
  })
}

t.test('retry - from one second to thirty', async t => {
  t.same([1, 2, 3, 5, 6, 60].map(retryDelayMs), [1000, 2000, 4000, 16_000, 30_000, 30_000])
})

t.test(
  'full disk - a batch that is durable keeps its receipt when a later one of its turn meets it (JF-84)',
  async t => {
    const store = new TestStore(t)
    const journal = store.open()
    let writes = 0
    store.fs.fault = ({ name, path }) =>
      name === 'writeSync' && path.endsWith('.jsonl') && ++writes === 2 ? 'ENOSPC' : undefined
    const batches = [messages(1, 600), messages(601, 1200), messages(1201, 1210)]
    const [one, two, three] = await Promise.allSettled(batches.map(batch => journal.submit(batch)))
    t.match(one, { status: 'fulfilled', value: { seqs: { length: 600 } } })
    t.match(two, { status: 'rejected', reason: { code: 'store_full' } })
    t.match(three, { status: 'rejected', reason: { code: 'store_full' } })
    t.equal(journal.head.seq, 601)
    store.fs.heal()
    t.same(journal.append(messages(601, 602)).seqs, [602, 603])
    journal.close()
    await store.verified(t)
  },
)

t.test('dead disk - a batch that is durable keeps its receipt, and the rest ends the process', async t => {
  const store = new TestStore(t)
  const journal = store.open()
  let writes = 0
  store.fs.fault = ({ name, path }) =>
    name === 'writeSync' && path.endsWith('.jsonl') && ++writes === 2 ? 'EIO' : undefined
  const batches = [messages(1, 600), messages(601, 1200)]
  const [one, two] = await Promise.allSettled(batches.map(batch => journal.submit(batch)))
  t.equal(one?.status, 'fulfilled')
  t.match(two, { status: 'rejected', reason: { code: 'store_failed' } })
  t.match(journal.failure, { code: 'store_failed' })
  throwsCode(t, 'journal_closed', () => journal.append([message(1)]))
})

for (const between of ['roll', 'checkpoint', 'gc', 'upkeep', 'keyed', 'keyed, and the disk is full again']) {
  t.test(
    `full disk - what was drafted before a record was found is refused after ${between} too`,
    async t => {
      const store = new TestStore(t)
      const journal = store.open()
      journal.append([message(1)])
      const line = Buffer.byteLength(readFileSync(store.segment(), 'utf8').split('\n').at(-2) ?? '')
      store.fs.break('writeSync', '.jsonl', line + 20)
      throwsCode(t, 'store_full', () => journal.append(messages(2, 3)))
      store.fs.heal()
      if (between === 'roll' || between === 'checkpoint' || between === 'gc' || between === 'upkeep') {
        journal[between]()
      } else {
        let writes = 0
        const isFull = between !== 'keyed'
        store.fs.fault = ({ name, path }) =>
          isFull && name === 'writeSync' && path.endsWith('.jsonl') && ++writes === 3 ? 'ENOSPC' : undefined
        const told = await Promise.allSettled([
          journal.submit([message(9, { key: 'k9' })]),
          ...(isFull ? [journal.submit(messages(2, 3))] : []),
        ])
        store.fs.heal()
        if (isFull) {
          t.match(told, [{ reason: { code: 'store_full' } }, { reason: { code: 'journal_moved' } }])
        } else t.equal(told[0]?.status, 'fulfilled')
      }
      if (!between.includes('again')) {
        throwsCode(t, 'journal_moved', () => journal.append(messages(2, 3)))
      }
      t.equal(journal.append([message(3)]).seqs.length, 1, 'once')
      journal.close()
      const ids = store.lines().filter(({ item_id }) => /river\/[23]$/.test(item_id))
      t.same(
        ids.map(({ item_id }) => item_id),
        ['river/2', 'river/3'],
      )
      await store.verified(t)
    },
  )
}

t.test('lock - a lock file that cannot be looked at names the fault, and is not lost (JF-86)', async t => {
  const store = new TestStore(t)
  let fault: string | undefined
  const look = (): boolean => {
    if (fault === undefined) return true
    throw Object.assign(new Error(`${fault}: i/o error, lstat`), { code: fault, syscall: 'lstat' })
  }
  const lock: StoreLock = { acquire: () => ({ held: true, intact: look, release: () => undefined }) }
  const journal = store.open({ lock })
  fault = 'EIO'
  t.throws(() => journal.append([message(1)]), {
    code: 'store_failed',
    message: `cannot read the attributes of the lock file ${store.paths.lock}: EIO`,
  })
  t.match(journal.failure, { code: 'store_failed' }, 'and it is the end of this journal')
})

t.test(
  'close - a lock that cannot be given up is said, and what comes before it is done (CL-14)',
  async t => {
    const store = new TestStore(t)
    const release = (): never => {
      throw Object.assign(new Error('EIO: i/o error, ftruncate'), { code: 'EIO', syscall: 'ftruncate' })
    }
    const lock: StoreLock = { acquire: () => ({ held: true, intact: () => true, release }) }
    const journal = store.open({ lock })
    t.throws(() => journal.close(), {
      code: 'store_failed',
      message: `cannot release the lock ${store.paths.lock}: EIO`,
    })
    t.ok(store.fs.count('closeSync', 'seg-') > 0, 'the segment is closed')
  },
)
