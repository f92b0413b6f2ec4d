import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { jcs, sha256Hex } from '@kim/manifest'
import type { Journal } from '@kim/producer/internal'
import t from 'tap'
import { codeOf, message, messages, persona, TestStore, throwsCode } from '../kit/store.js'

const idle = (journal: Journal): number => {
  let slices = 0
  while (journal.upkeep()) slices++
  return slices
}

t.test('roll - each segment begins with the seal of the one before (JF-58, JF-61)', async t => {
  const store = new TestStore(t)
  store.with(
    journal => {
      for (let n = 1; n <= 30; n++) journal.append([message(n)])
    },
    { segmentBytes: 3000, gc: false },
  )
  const names = store.segments()
  t.ok(names.length > 3)
  for (const [at, name] of names.entries()) {
    const lines = readFileSync(join(store.paths.events, name), 'utf8').trimEnd().split('\n')
    const first = JSON.parse(lines[0] ?? '')
    t.equal(name, `seg-${String(first.seq).padStart(8, '0')}.jsonl`, 'named by its first seq')
    const before = names[at - 1]
    if (before === undefined) continue
    const bytes = readFileSync(join(store.paths.events, before))
    t.match(first.payload, {
      segment: before,
      bytes: bytes.length,
      sha256: sha256Hex(bytes),
      last_seq: first.seq - 1,
    })
    t.ok(bytes.length >= 3000)
  }
  await store.verified(t)
})

t.test('roll - the new segment is durable by name before anything stands in it', async t => {
  const store = new TestStore(t)
  const journal = store.open()
  journal.append([message(1)])
  store.fs.calls.length = 0
  journal.roll()
  const about = store.fs.calls.filter(({ path }) => path.endsWith('.jsonl') || path === store.paths.events)
  const at = (name: string, path: string): number =>
    about.findIndex(call => call.name === name && call.path.endsWith(path))
  const fresh = store.segments().at(-1) ?? ''
  t.ok(at('fdatasyncSync', 'seg-00000001.jsonl') < at('openSync', fresh))
  t.ok(at('openSync', fresh) < at('fsyncSync', store.paths.events))
  t.ok(at('fsyncSync', store.paths.events) < at('writeSync', fresh))
})

t.test('checkpoint - holds the fold of what is sealed, in its layout (JF-63 JF-64 JF-65 JF-66)', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    journal.append([
      persona({ cursor: 3 }),
      message(2),
      message(1, { key: 'k' }),
      message(3, { item_type: 'alert' }),
    ])
    journal.append([message(2, { action: 'update' }, { read: true })])
    journal.append([message(3, { item_type: 'alert', action: 'delete', payload: undefined })])
    journal.append([message(9, { action: 'session_start' }), message(9, { action: 'session_end' })])
    journal.checkpoint()
  })
  const [name] = store.checkpoints()
  const text = readFileSync(join(store.paths.checkpoints, name ?? ''), 'utf8')
  const document = JSON.parse(text)
  const { entities, keys, revisions, ...header } = document
  t.match(header, {
    checkpoint: 1,
    capabilities: [],
    entity_count: 3,
    head_seq: 9,
    chain: {
      segment: 'seg-00000001.jsonl',
      sha256: sha256Hex(readFileSync(store.segment('seg-00000001.jsonl'))),
    },
  })
  t.equal(name, 'ckpt-00000009.json')
  t.same(keys, [['k', 4, '2026-06-10T14:00:00.000Z']])
  t.same(revisions, [['alert', 'river/3', 2]])
  t.same(
    entities.map((e: { item_type: string; item_id: string; entity_rev: number; seq: number }) => [
      e.item_type,
      e.item_id,
      e.entity_rev,
      e.seq,
    ]),
    [
      ['message', 'river/1', 1, 4],
      ['message', 'river/2', 2, 6],
      ['persona', 'river', 1, 2],
    ],
  )
  for (const line of text.split('\n').slice(-5, -2)) {
    const entity = line.replace(/,$/, '')
    t.equal(entity, jcs(JSON.parse(entity)))
  }
  t.match(store.notes('checkpoint_ref'), [
    {
      payload: {
        file: name,
        bytes: Buffer.byteLength(text),
        sha256: sha256Hex(text),
        head_seq: 9,
        entities: 3,
      },
    },
  ])
  await store.verified(t)
})

t.test('checkpoint - is built from the one before, and equals a fold from the start', async t => {
  const store = new TestStore(t)
  const from = (journal: Journal): unknown =>
    [...journal.state.values()]
      .map(e => [e.item_type, e.item_id, e.entity_rev, e.seq, e.agent, e.ts, e.payload])
      .sort()
  const expected = store.with(
    journal => {
      for (let n = 1; n <= 200; n++) {
        const id = (n * 37) % 60
        if (n % 5 === 0) journal.append([message(id % 7, { item_type: 'alert', action: 'delete' })])
        else
          journal.append([
            message(id, { action: 'update' }, { n }),
            message(id % 7, { item_type: 'alert' }, { n }),
          ])
        if (n % 3 === 0) idle(journal)
      }
      idle(journal)
      return from(journal)
    },
    { segmentBytes: 4000, gc: false },
  )
  t.ok(store.checkpoints().length > 5)
  t.same(store.with(from, { gc: false }), expected)
  for (const name of store.checkpoints()) rmSync(join(store.paths.checkpoints, name))
  t.same(store.with(from, { gc: false }), expected)
})

t.test(
  'checkpoint - drops what a tombstone without a revision removed from the one before (JF-32)',
  async t => {
    const store = new TestStore(t)
    const last = store.with(journal => {
      journal.append(messages(1, 3))
      journal.checkpoint()
      return journal.head.seq
    })
    store.scribble(
      `{"action":"delete","agent":"river","item_id":"river/2","item_type":"message","seq":${last + 1},"summary":"","ts":"2026-06-10T14:03:22.114Z","v":2,"writer":"w_1-aa"}\n`,
    )
    store.with(journal => journal.checkpoint())
    const newest = readFileSync(join(store.paths.checkpoints, store.checkpoints().at(-1) ?? ''), 'utf8')
    t.same(newest.match(/river\/\d/g), ['river/1', 'river/3'])
    store.with(journal => t.equal(journal.state.size, 2))
  },
)

t.test('checkpoint - the entities of one that is verified are read from it', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    journal.append(messages(1, 50))
    journal.checkpoint()
    journal.checkpoint()
    store.fs.calls.length = 0
    t.equal([...journal.state.values()].length, 50)
    t.equal(store.fs.count('readSync', 'seg-'), 0)
    t.ok(store.fs.count('readSync', 'ckpt-') > 0)
  })
})

t.test('checkpoint - no slice of its work does much at once (JF-62)', async t => {
  const store = new TestStore(t)
  const journal = store.open({ gc: false })
  for (let n = 0; n < 10; n++) journal.append(messages(n * 700 + 1, n * 700 + 700))
  journal.roll()
  let worst = 0
  let slices = 0
  for (let more = true; more; slices++) {
    store.fs.calls.length = 0
    more = journal.upkeep()
    worst = Math.max(worst, store.fs.calls.length)
    if (slices === 5) t.same(journal.append([message(99_999)]).seqs.length, 1, 'an append goes between')
  }
  t.equal(store.checkpoints().length, 1)
  t.ok(slices > 20, `${slices} slices`)
  t.ok(worst < 600, `at most ${worst} calls in one`)
})

t.test('checkpoint - appends alone get it done', async t => {
  const store = new TestStore(t)
  store.with(
    journal => {
      for (let n = 1; n <= 120; n++) journal.append([message(n % 10, { action: 'update' })])
    },
    { segmentBytes: 4000 },
  )
  t.ok(store.notes('checkpoint_ref').length > 2)
  t.ok(readdirSync(store.paths.archive).length > 0)
  await store.verified(t)
})

t.test('checkpoint - one that a crash left without its ref is built again (C4)', async t => {
  const store = new TestStore(t)
  const journal = store.open()
  journal.append(messages(1, 5))
  store.fs.fault = ({ name, path }) =>
    name === 'writeSync' && /seg-0*7/.test(path) && store.checkpoints().some(n => n.startsWith('ckpt'))
      ? 'EIO'
      : undefined
  throwsCode(t, 'store_failed', () => journal.checkpoint())
  journal.close()
  store.fs.heal()
  t.equal(store.checkpoints().length, 1)
  t.equal(store.notes('checkpoint_ref').length, 0)
  store.with(next => idle(next))
  t.equal(store.notes('checkpoint_ref').length, 1)
  await store.verified(t)
})

t.test(
  'keys - outlive rolls, checkpoints, gc and restarts, and are forgotten after thirty days (JF-73)',
  async t => {
    const store = new TestStore(t)
    store.with(journal => {
      journal.append([message(1, { key: 'k' })])
      for (let n = 0; n < 3; n++) journal.checkpoint()
    })
    t.notOk(store.segments().includes('seg-00000001.jsonl'))
    store.with(journal => t.same(journal.append([message(1, { key: 'k' })]), { seqs: [2], deduped: [true] }))
    store.clock.wall += 31 * 86_400_000
    store.with(journal => {
      journal.append([message(2)])
      journal.checkpoint()
      t.same(journal.append([message(1, { key: 'k' })]).deduped, [false])
    })
  },
)

t.test('keys - a clock that was set back neither revives nor ages them (JF-73)', async t => {
  const store = new TestStore(t)
  const day = 86_400_000
  store.with(journal => {
    journal.append([message(1, { key: 'old' })])
    store.clock.wall += 31 * day
    journal.append([message(2)])
    journal.checkpoint()
    store.clock.wall -= 29 * day
    t.same(journal.append([message(1, { key: 'old' })]).deduped, [false], 'forgotten is forgotten')
  })
  await store.verified(t)
  store.with(journal => {
    for (let n = 0; n < 3; n++) journal.checkpoint()
    store.clock.wall += 57 * day
    journal.append([message(3)])
    journal.checkpoint()
  })
  store.with(journal =>
    t.same(
      journal.append([message(1, { key: 'old' })]).deduped,
      [true],
      '28 days by the journal, 57 by its ts',
    ),
  )
  await store.verified(t)
})

t.test('gc - parks what lies below the second-newest verified checkpoint, never more (JF-70)', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    const seen: number[] = []
    for (let n = 1; n <= 4; n++) {
      journal.append([message(n)])
      journal.checkpoint()
      seen.push(store.segments().length)
    }
    t.same(
      seen,
      [2, 2, 2, 2].map((_, at) => (at === 0 ? 2 : 2)),
    )
    t.equal(store.checkpoints().length, 2)
    t.equal(journal.state.get('message', 'river/1')?.payload?.['id'], 1)
  })
  t.ok(existsSync(join(store.paths.archive, 'seg-00000001.jsonl')))
  await store.verified(t)
})

t.test('gc - held, it moves nothing until it is asked', async t => {
  const store = new TestStore(t)
  store.with(
    journal => {
      for (let n = 1; n <= 4; n++) {
        journal.append([message(n)])
        journal.checkpoint()
      }
      t.equal(store.segments().length, 5)
      const report = journal.gc()
      t.equal(report.segments.length, 3)
      t.equal(report.checkpoints.length, 2)
      t.same(journal.gc(), { segments: [], checkpoints: [] })
    },
    { gc: false },
  )
  await store.verified(t)
})

t.test('gc - packs what it parks if asked to (JF-71)', async t => {
  const store = new TestStore(t)
  store.with(
    journal => {
      for (let n = 1; n <= 4; n++) {
        journal.append(messages(n * 1000, n * 1000 + 999))
        journal.checkpoint()
      }
    },
    { gzip: true },
  )
  const packed = readdirSync(store.paths.archive).filter(name => name.endsWith('.gz'))
  t.ok(packed.length >= 2)
  t.equal(sha256Hex(gunzipSync(readFileSync(join(store.paths.archive, packed[0] ?? '')))).length, 64)
  for (const directory of [store.paths.checkpoints, store.paths.archive]) {
    for (const name of readdirSync(directory)) if (name.startsWith('ckpt')) rmSync(join(directory, name))
  }
  store.with(journal => {
    t.equal(journal.state.size, 4000, 'history is read from the packed segments')
    t.equal(journal.state.get('message', 'river/1500')?.payload?.['id'], 1500)
    journal.checkpoint()
  })
  store.with(journal => t.equal(journal.state.size, 4000))
  await store.verified(t)
})

t.test('gc - a move that did not finish is finished, and one that differs is left (G2 to G4)', async t => {
  const store = new TestStore(t)
  store.with(
    journal => {
      for (let n = 1; n <= 4; n++) {
        journal.append([message(n)])
        journal.checkpoint()
      }
    },
    { gc: false },
  )
  const [first, second, third] = store.segments()
  const parked = (name: string): string => join(store.paths.archive, name)
  writeFileSync(parked(`${first}.gz`), gzipSync(readFileSync(store.segment(first))))
  writeFileSync(parked(`${second}.gz`), 'no gzip at all')
  writeFileSync(parked(third ?? ''), 'something else\n')
  store.with(journal => idle(journal))
  t.notOk(existsSync(store.segment(first)))
  t.notOk(existsSync(store.segment(second)))
  t.ok(existsSync(parked(second ?? '')))
  t.ok(existsSync(store.segment(third)), 'both stay')
  t.ok(store.logged.some(({ code }) => code === 'archive_differs'))
  rmSync(parked(third ?? ''))
  rmSync(parked(`${second}.gz`))
  await store.verified(t)
})

t.test(
  'retention - retires what is read and old, and says from where on it knows (JF-79, JF-80)',
  async t => {
    const store = new TestStore(t)
    store.with(
      journal => {
        journal.append([persona({ cursor: 12, name: 'River' })])
        journal.append([...messages(1, 4, { read: true }), message(5), ...messages(6, 12, { read: true })])
        journal.append([{ ...message(1, {}, { read: true }), agent: 'argus', item_id: 'argus/1' }])
        journal.roll()
        const ids = [...journal.state.values('message')].map(({ item_id }) => item_id).sort()
        t.same(ids, ['argus/1', 'river/10', 'river/11', 'river/12', 'river/5'])
        t.match(journal.state.get('persona', 'river')?.payload, { known_from: 10, name: 'River', cursor: 12 })
        journal.roll()
        t.equal(journal.state.get('persona', 'river')?.entity_rev, 2, 'nothing more to retire')
      },
      { retainRead: 3 },
    )
    const own = store
      .lines()
      .filter(({ action, item_type }) => action === 'delete' || item_type === 'persona')
    t.same(
      own.map(({ action }) => action),
      ['update', 'update', ...Array(8).fill('delete')],
      'the persona first',
    )
    t.equal(own.at(-1)?.summary, 'archived')
    await store.verified(t)
  },
)

t.test(
  'retention - keeps the newest 200 read messages of a persona where nothing else is set (JF-79)',
  async t => {
    const store = new TestStore(t)
    store.with(journal => {
      journal.append([persona(), ...messages(1, 203, { read: true })])
      journal.roll()
      const left = [...journal.state.values('message')].map(({ payload }) => Number(payload?.['id']))
      t.equal(left.length, 200)
      t.equal(Math.min(...left), 4)
    })
  },
)

t.test('retention - spares the newest message, what an open pin covers, and a first contact', async t => {
  const store = new TestStore(t)
  const pin = (status: string): object => ({
    ...message(
      0,
      { item_type: 'alert', item_id: 'river/bounded-window', action: 'update' },
      { status, cursor_at: 3 },
    ),
  })
  store.with(
    journal => {
      journal.append([...messages(1, 6, { read: true })])
      journal.roll()
      t.equal([...journal.state.values('message')].length, 6, 'a persona without a record')
      journal.append([persona(), pin('open') as never])
      journal.roll()
      const left = (): number[] =>
        [...journal.state.values('message')].map(e => Number(e.payload?.['id'])).sort()
      t.same(left(), [4, 5, 6])
      journal.append([pin('cleared') as never])
      journal.roll()
      t.same(left(), [6], 'the newest stays')
    },
    { retainRead: 0 },
  )
})

t.test('retention - a great many go in commits, and a roll by size waits for them', async t => {
  const store = new TestStore(t)
  store.with(
    journal => {
      journal.append([persona()])
      for (let n = 0; n < 5; n++) journal.append(messages(n * 1000 + 1, n * 1000 + 1000, { read: true }))
      while (store.segments().length < 2) journal.append([message(1, { action: 'session_start' })])
      t.equal([...journal.state.values('message')].length, 10)
    },
    { segmentBytes: 1_500_000, retainRead: 10 },
  )
  t.equal(store.lines().filter(({ action }) => action === 'delete').length, 4990)
  await store.verified(t)
})

t.test('numbers - loud from ninety per cent on, refused at the end (JF-45)', async t => {
  const store = new TestStore(t)
  const projectId = store.with(journal => journal.projectId)
  const renumber = (seq: number): void => {
    const path = store.segment()
    const line = readFileSync(path, 'utf8').split('\n')[0] ?? ''
    writeFileSync(path, `${line.replace(/"seq":\d+/, `"seq":${seq}`)}\n`)
    renameSync(path, join(store.paths.events, `seg-${String(seq).padStart(8, '0')}.jsonl`))
    writeFileSync(store.paths.meta, JSON.stringify({ project_id: projectId, next_seq: seq + 1 }))
  }
  renumber(89_999_999)
  store.with(journal => journal.append([message(1)]))
  const warned = store.logged.filter(({ code }) => code === 'seq_running_out').length
  t.ok(warned > 0)
  renumber(99_999_997)
  const size = statSync(store.segment()).size
  store.with(
    journal => {
      t.same(journal.append([message(1)]).seqs, [99_999_998])
      throwsCode(t, 'seq_exhausted', () => journal.append(messages(2, 3)))
      t.same(journal.append([message(2)]).seqs, [99_999_999])
      throwsCode(t, 'seq_exhausted', () => journal.append([message(3)]))
      throwsCode(t, 'seq_exhausted', () => journal.append([message(3)]), 'and again')
      t.equal(journal.state.size, 2)
    },
    { segmentBytes: 2000 },
  )
  t.equal(
    store.with(journal => codeOf(() => journal.append([message(3)]))),
    'seq_exhausted',
  )
  t.ok(statSync(store.segment()).size > size)
})

t.test(
  'retention - a repetition of what it took is answered, and nothing else takes a message (JF-81)',
  async t => {
    const store = new TestStore(t)
    store.with(
      journal => {
        const keyed = messages(1, 6, { read: true }).map((draft, n) => ({ ...draft, key: `k${n}` }))
        journal.append([persona(), ...keyed])
        journal.checkpoint()
        t.notOk(journal.state.has('message', 'river/2'))
        t.notOk(journal.append(keyed).deduped.includes(false), 'a repetition is answered all the same')
        throwsCode(
          t,
          'record_invalid',
          () => journal.append([message(6, { action: 'delete', payload: undefined })]),
          'and nothing else takes a message',
        )
        journal.append([message(6, { action: 'update' }), message(7)])
      },
      { retainRead: 1 },
    )
    await store.verified(t)
  },
)

t.test('checkpoint - is not left behind by a burst that gives it no rest (JF-58)', async t => {
  const store = new TestStore(t)
  const journal = store.open({ segmentBytes: 150_000, gc: false })
  const first = (name: string): number => Number(/\d+/.exec(name)?.[0])
  let furthest = 0
  for (let n = 0; n < 120; n++) {
    journal.append(Array.from({ length: 500 }, (_, at) => message(1 + (((n % 4) * 500 + at) % 2000))))
    const covered = first(store.checkpoints().at(-1) ?? '0')
    furthest = Math.max(furthest, store.segments().filter(name => first(name) > covered).length)
  }
  t.ok(store.segments().length > 100, `${store.segments().length} segments`)
  t.ok(furthest < 20, `at most ${furthest} of them wait for a checkpoint`)
})

t.test(
  'checkpoint - a burst that pays for it waits for no more than a few slices at once (JF-62)',
  async t => {
    const store = new TestStore(t)
    const journal = store.open({ segmentBytes: 3_000_000, gc: false })
    // Each call takes a while, as on a machine whose slices take as long as they may.
    store.fs.fault = () => {
      store.clock.mono += 0.1
      return undefined
    }
    const content = 'x'.repeat(1500)
    let worst = 0
    for (let n = 0; n < 40; n++) {
      store.fs.calls.length = 0
      journal.append(Array.from({ length: 500 }, (_, at) => message(1 + n * 500 + at, {}, { content })))
      worst = Math.max(worst, store.fs.calls.length)
    }
    t.ok(store.checkpoints().length > 0, 'it gets done')
    t.ok(worst < 1500, `at most ${worst} calls in one append`)
  },
)

t.test(
  'checkpoint - names that differ only where they are ill-formed are different ones (JF-64)',
  async t => {
    const store = new TestStore(t)
    const foreign = (seq: number, item_id: string): string =>
      `${JSON.stringify({ ...message(1, { item_type: 'note', item_id }), v: 2, seq, writer: 'foreign' })}\n`
    store.with(journal => journal.append([message(1)]))
    store.scribble(foreign(3, 'a\ud801') + foreign(4, 'a\ud800'))
    store.with(journal => journal.checkpoint())
    const seq = store.with(journal => journal.head.seq)
    store.scribble(foreign(seq + 1, 'a\ud800'))
    store.with(journal => journal.checkpoint())
    t.equal(store.notes('checkpoint_ref').length, 2)
    store.with(journal => {
      t.equal(journal.state.get('note', 'a\ud801')?.seq, 3)
      t.equal(journal.state.get('note', 'a\ud800')?.seq, seq + 1)
    })
    t.notOk(store.logged.some(({ code }) => code === 'checkpoint_not_built'))
    t.notOk((await store.verified(t, 6)).includes('checkpoint_mismatch'))
  },
)
