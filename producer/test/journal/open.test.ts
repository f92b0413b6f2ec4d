import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { currentHost, repairStore } from '@kim/producer/internal'
import t from 'tap'
import { homeOf } from '../kit/home.js'
import { run, whole } from '../kit/raw-lines.js'
import { message, messages, TestStore, throwsCode } from '../kit/store.js'

t.test('open - a new store begins with its genesis (R1, JF-9, JF-91)', async t => {
  const store = new TestStore(t)
  const umask = process.umask(0)
  t.teardown(() => process.umask(umask))
  const journal = store.open({ source: 'HTTP://127.0.0.1:7474/' })
  t.match(journal.projectId, /^[0-9a-f]{32}$/)
  t.same(journal.history, { isWhole: true, from: 1, holes: [] })
  journal.append([message(1)])
  journal.close()
  t.match(store.lines()[0], {
    seq: 1,
    action: 'journal_note',
    item_id: 'genesis',
    payload: { project_id: journal.projectId, source: 'http://localhost:7474' },
  })
  for (const path of [
    store.dir,
    store.paths.events,
    store.paths.run,
    store.paths.blobs,
    store.paths.archive,
  ]) {
    t.equal(statSync(path).mode & 0o777, 0o700, path)
  }
  for (const path of [store.segment(), store.paths.meta, store.paths.lock]) {
    t.equal(statSync(path).mode & 0o777, 0o600, path)
  }
  t.same(JSON.parse(readFileSync(store.paths.meta, 'utf8')), {
    active_segment: 'seg-00000001.jsonl',
    entity_revs: {},
    next_seq: 3,
    project_id: journal.projectId,
  })
  await store.verified(t)
})

t.test('open - without a source nothing is made, and what is there is opened', async t => {
  const store = new TestStore(t)
  throwsCode(t, 'no_store', () => store.open({ source: undefined }))
  store.with(journal => journal.append([message(1)]))
  store.with(journal => t.equal(journal.state.size, 1), { source: undefined })
})

t.test('open - an empty segment alone, with a number that no roll gave it, is refused (RC-12)', async t => {
  const store = new TestStore(t)
  store.with(() => undefined)
  const stray = join(dirname(store.segment()), 'seg-00000005.jsonl')
  renameSync(store.segment(), stray)
  writeFileSync(stray, '')
  rmSync(store.paths.meta)
  throwsCode(t, 'store_damaged', () => store.open())
  t.equal(statSync(stray).size, 0)
})

t.test('open - another source is refused, naming both (JF-10)', async t => {
  const store = new TestStore(t)
  store.with(() => undefined)
  for (const same of ['http://127.0.0.1:7474', 'http://[::1]:7474/', 'http://LOCALHOST:7474']) {
    t.doesNotThrow(() => store.open({ source: same }).close(), same)
  }
  t.throws(() => store.open({ source: 'https://kijito.example' }), {
    code: 'source_mismatch',
    exitCode: 2,
    message: /localhost:7474.*kijito\.example/,
    hint: /--url http:\/\/localhost:7474.*--store.*mv \S+ \S+\.old$/,
  })
  t.doesNotThrow(() => store.open().close(), 'and the lock was let go')
})

t.test('open - the error of a second writer names the holder of the store (JF-89)', async t => {
  const store = new TestStore(t)
  const journal = store.open()
  t.throws(() => store.open(), {
    code: 'store_held',
    exitCode: 75,
    message: new RegExp(
      `process ${process.pid}, which started 2026-06-10T14:00:00.000Z, holds the store ${store.dir}`,
    ),
  })
  journal.close()
  store.with(() => t.pass('released'))
})

t.test('tail - a journal without any of its records begins again, and the log says so (R1)', async t => {
  for (const lose of [(path: string) => writeFileSync(path, ''), (path: string) => rmSync(path)]) {
    const store = new TestStore(t)
    const first = store.with(journal => {
      journal.append(messages(1, 3))
      return journal.projectId
    })
    t.notOk(store.logged.some(({ code }) => code === 'records_lost'))
    lose(store.segment())
    t.not(
      store.with(journal => journal.projectId),
      first,
    )
    t.match(
      store.logged.filter(({ code }) => code === 'records_lost'),
      [{ level: 'error', message: /up to 4, are missing: a new journal begins/, hint: /backup/ }],
    )
    store.with(() => undefined)
    t.equal(store.logged.filter(({ code }) => code === 'records_lost').length, 1, 'and said once')
    await store.verified(t)
  }
})
t.test('meta - announced numbers that the disk lost are skipped and named (M5)', async t => {
  const store = new TestStore(t)
  const projectId = store.with(journal => {
    journal.append([message(1)])
    return journal.projectId
  })
  const meta = (next: number, project = projectId): void =>
    writeFileSync(
      store.paths.meta,
      JSON.stringify({ project_id: project, next_seq: next, active_segment: 'x' }),
    )
  meta(8)
  store.with(journal => {
    t.equal(journal.head.seq, 8)
    t.same(journal.append([message(2)]).seqs, [9])
  })
  t.match(store.notes('seq_repair'), [{ seq: 8, payload: { from: 3, to: 7 } }])
  for (const [what, write] of [
    ['M2', () => writeFileSync(store.paths.meta, '{')],
    ['M3', () => meta(12, 'another')],
    ['M4', () => meta(3)],
    ['M6', () => meta(50_000)],
    ['M1', () => rmSync(store.paths.meta)],
  ] as const) {
    write()
    store.with(journal => t.equal(journal.append([message(3, { action: 'update' })]).seqs.length, 1, what))
  }
  t.equal(store.notes('seq_repair').length, 1)
  t.same(await store.verified(t), ['hole_repaired'])
})

t.test('meta - numbers lost behind an open run are told apart from it', async t => {
  const store = new TestStore(t)
  const projectId = store.with(journal => {
    journal.append([message(1)])
    return journal.projectId
  })
  store.scribble(`${run(3, 1, 3)}\n${run(4, 2, 3)}\n`)
  writeFileSync(store.paths.meta, JSON.stringify({ project_id: projectId, next_seq: 7 }))
  store.with(() => undefined)
  t.match(store.notes('seq_repair'), [{ payload: { from: 5, to: 6 } }])
  t.equal(store.notes('tx_abandoned').length, 1)
  await store.verified(t)
})

t.test('open - a journal of another writer is never continued (R8, R9)', async t => {
  const store = new TestStore(t)
  store.with(journal => journal.append([message(1)]))
  const genesis = readFileSync(store.segment())
  writeFileSync(join(store.paths.events, 'seg-00000003.jsonl'), `${whole(3)}\n`)
  throwsCode(t, 'journal_foreign', () => store.open())
  writeFileSync(join(store.paths.events, 'seg-00000003.jsonl'), genesis)
  throwsCode(t, 'journal_foreign', () => store.open())
  t.ok(readFileSync(join(store.paths.events, 'seg-00000003.jsonl')).equals(genesis), 'nothing was appended')
  const stray = join(store.paths.events, 'seg-00000003.jsonl')
  t.throws(() => store.open(), {
    code: 'journal_foreign',
    hint: `if it is a copy, move it away: ${stray}`,
  })
  rmSync(stray)
  store.with(journal => t.same(journal.append([message(2)]).seqs, [3]))
})

t.test('open - without any segment the hint names a copy, or another beginning', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    journal.append([message(1)])
    journal.checkpoint()
  })
  for (const name of store.segments()) rmSync(join(store.paths.events, name))
  t.throws(() => store.open(), {
    code: 'store_damaged',
    message: `${store.dir} has checkpoints but no segment`,
    hint: `restore the store from a copy; without one, move it away (mv ${store.dir} ${store.dir}.old) and start again`,
  })
  renameSync(store.dir, `${store.dir}.old`)
  t.doesNotThrow(() => store.open().close())
})

t.test('open - history that is gone is said, and no checkpoint pretends otherwise (R7)', async t => {
  const store = new TestStore(t)
  store.with(
    journal => {
      for (let n = 1; n <= 4; n++) {
        journal.append([message(n)])
        journal.roll()
      }
    },
    { gc: false },
  )
  for (const name of store.segments().slice(0, 3)) rmSync(join(store.paths.events, name))
  for (const name of store.checkpoints()) rmSync(join(store.paths.checkpoints, name))
  store.with(journal => {
    t.match(journal.history, { isWhole: false })
    t.ok(store.logged.some(({ code }) => code === 'history_incomplete'))
    t.ok(store.logged.some(({ code }) => code === 'source_unknown'))
    journal.append([message(9)])
    journal.checkpoint()
    t.same(store.checkpoints(), [])
  })
})

t.test('open - holes in what was read are reported to the caller', async t => {
  const store = new TestStore(t)
  store.with(journal => journal.append(messages(1, 3)))
  const lines = readFileSync(store.segment(), 'utf8').split('\n')
  writeFileSync(store.segment(), [lines[0], lines[1], ...lines.slice(3)].join('\n'))
  const opened = (): unknown => {
    store.logged.length = 0
    store.with(journal => t.same(journal.history.holes, [{ from: 3, to: 3 }]))
    return store.logged.find(({ code }) => code === 'history_holes')
  }
  t.match(opened(), { level: 'error', hint: /journal verify --store / })
  repairStore(store.options())
  t.match(opened(), { level: 'info', message: /in 1 place, first record 3; repair notes explain them all$/ })
})

t.test('open - reads the newest checkpoint and the tail, not history', async t => {
  const store = new TestStore(t)
  store.with(
    journal => {
      for (let n = 1; n <= 40; n++) journal.append([message(n)])
      journal.checkpoint()
      journal.append([message(41)])
    },
    { segmentBytes: 2000, gc: false },
  )
  store.fs.calls.length = 0
  store.with(journal => t.equal(journal.state.size, 41), { gc: false })
  const opened = new Set(
    store.fs.calls
      .filter(({ name, path }) => name === 'readSync' && /seg-\d{8}/.test(path))
      .map(({ path }) => path),
  )
  t.ok(store.segments().length > 5)
  t.equal(opened.size, 2, 'the genesis and the newest segment')
})

t.test('open - a bad checkpoint gives way to the one before, then to the segments (C1 to C6)', async t => {
  const store = new TestStore(t)
  store.with(
    journal => {
      for (let n = 1; n <= 3; n++) {
        journal.append(messages(n * 10, n * 10 + 5))
        journal.checkpoint()
      }
      journal.append([message(1, { key: 'k' })])
    },
    { gc: false },
  )
  const [first, second, third] = store.checkpoints().map(name => join(store.paths.checkpoints, name))
  const state = (): unknown =>
    store.with(j => [...j.state.values()].map(e => [e.item_id, e.seq, e.payload]).sort(), { gc: false })
  const expected = state()
  for (const path of [third, second, first]) {
    writeFileSync(
      path ?? '',
      readFileSync(path ?? '').map(byte => (byte === 0x72 ? 0x71 : byte)),
    )
    t.same(state(), expected)
  }
  t.ok(store.logged.filter(({ code }) => code === 'checkpoint_rejected').length >= 3)
  store.with(journal => t.equal(journal.append([message(1, { key: 'k' })]).deduped[0], true), { gc: false })
})

t.test(
  'safety - what an attacker or an accident puts into a store is refused and left alone (JF-91)',
  async t => {
    const home = homeOf(t)
    const victim = join(home, 'victim')
    writeFileSync(victim, 'precious')
    const plant: Record<string, (store: TestStore) => void> = {
      'a linked store': store => {
        renameSync(store.dir, `${store.dir}-real`)
        symlinkSync(`${store.dir}-real`, store.dir)
      },
      'a linked events directory': store => {
        renameSync(store.paths.events, `${store.paths.run}/events`)
        symlinkSync(`${store.paths.run}/events`, store.paths.events)
      },
      'a shared store': store => chmodSync(store.dir, 0o770),
      'a shared archive': store => chmodSync(store.paths.archive, 0o702),
      'a linked quarantine': store => symlinkSync(home, store.paths.quarantine),
      'a file for a directory': store => {
        rmSync(store.paths.blobs, { recursive: true })
        writeFileSync(store.paths.blobs, '')
      },
      'a linked segment': store => {
        rmSync(store.segment())
        symlinkSync(victim, store.segment('seg-00000001.jsonl'))
      },
      'a FIFO for a segment': store => {
        rmSync(store.segment())
        execFileSync('mkfifo', [store.segment('seg-00000001.jsonl')])
      },
      'a directory for a segment': store => {
        rmSync(store.segment())
        mkdirSync(store.segment('seg-00000001.jsonl'))
      },
      'a linked lock': store => {
        rmSync(store.paths.lock)
        symlinkSync(victim, store.paths.lock)
      },
    }
    for (const [what, act] of Object.entries(plant)) {
      const store = new TestStore(t)
      store.with(journal => journal.append([message(1)]))
      act(store)
      t.throws(() => store.open(), { code: 'not_permitted', exitCode: 77 }, what)
    }
    t.equal(readFileSync(victim, 'utf8'), 'precious')
  },
)

t.test('safety - a store of somebody else is refused', async t => {
  const store = new TestStore(t)
  store.with(() => undefined)
  const host = currentHost()
  const own = host.uid ?? 0
  t.throws(() => store.open({ host: { ...host, uid: own + 1 } }), {
    code: 'not_permitted',
    hint: new RegExp(`if it is theirs, run as user ${own}; .* sudo chown -R ${own + 1} ${store.paths.root}$`),
  })
})

t.test('safety - a file that root left is named with the command that gives it back', async t => {
  const store = new TestStore(t)
  store.with(() => undefined)
  const { port } = store.fs
  const isOne = (path: unknown): boolean => String(path).includes('seg-')
  const fs = {
    ...port,
    openSync: ((path, ...rest) => {
      if (isOne(path)) throw Object.assign(new Error('EACCES'), { code: 'EACCES' })
      return port.openSync(path, ...rest)
    }) as typeof port.openSync,
    lstatSync: (path: string) => Object.assign(port.lstatSync(path), isOne(path) ? { uid: 4711 } : {}),
  }
  t.throws(() => store.open({ fs }), {
    code: 'not_permitted',
    message: /seg-00000001\.jsonl: it belongs to user 4711, not to user/,
    hint: /sudo chown \d+ .*seg-00000001\.jsonl /,
  })
})

t.test('safety - what others may only read is closed to them and said once', async t => {
  const store = new TestStore(t)
  store.with(() => undefined)
  chmodSync(store.paths.events, 0o755)
  chmodSync(store.segment(), 0o644)
  store.with(() => undefined)
  t.equal(statSync(store.paths.events).mode & 0o777, 0o700)
  t.equal(statSync(store.segment()).mode & 0o777, 0o600)
  t.equal(store.logged.filter(({ code }) => code === 'tightened').length, 2)
})

t.test('safety - an ancestor that others control is one warning that names it', async t => {
  const store = new TestStore(t)
  chmodSync(dirname(store.dir), 0o777)
  store.with(journal => journal.append([message(1)]))
  const warnings = store.logged.filter(({ code }) => code === 'unsafe_ancestor')
  t.equal(warnings.length, 1)
  t.ok(warnings[0]?.message.includes(`write to ${dirname(store.dir)}, `))
})

t.test(
  'open - leftover temporary files are removed, misnamed segments are left alone (RC-16, F5)',
  async t => {
    const store = new TestStore(t)
    store.with(journal => journal.append([message(1)]))
    const temps = [store.paths.events, store.paths.checkpoints, store.paths.archive].map(path =>
      join(path, '.x.tmp'),
    )
    for (const path of temps) writeFileSync(path, 'half')
    const misnamed = join(store.paths.events, 'seg-1.jsonl')
    copyFileSync(store.segment(), misnamed)
    store.with(() => undefined)
    for (const path of temps) t.notOk(existsSync(path))
    t.ok(existsSync(misnamed))
    t.ok(store.logged.some(({ code }) => code === 'segment_misnamed'))
    t.notOk(readdirSync(store.paths.events).some(name => name.endsWith('.tmp')))
  },
)

t.test('open - every descriptor is given back, also when it fails', async t => {
  const store = new TestStore(t)
  store.with(journal => journal.checkpoint())
  const balance = (): number => store.fs.count('openSync') - store.fs.count('closeSync')
  t.equal(balance(), 0)
  writeFileSync(store.segment(), `${whole(9)}\n`)
  throwsCode(t, 'journal_foreign', () => store.open())
  t.equal(balance(), 0)
})

t.test('open - what a later version wrote keeps its numbers (RC-5, JF-21, JF-44, CO-3)', async t => {
  for (const end of ['\n', '']) {
    const store = new TestStore(t)
    store.with(journal => journal.append([message(1)]))
    rmSync(store.paths.meta)
    store.scribble(`{"v":3,"seq":3,"action":"create","item_type":"message","item_id":"x"}${end}`)
    store.with(journal => {
      const [seq = 0] = journal.append([message(2)]).seqs
      t.ok(seq > 3)
      journal.checkpoint()
    })
    rmSync(store.paths.meta)
    store.scribble(`{"v":3,"seq":20}\n`)
    store.with(journal => t.equal(journal.roll(), undefined))
    rmSync(store.paths.meta)
    store.with(journal => t.ok((journal.append([message(3)]).seqs[0] ?? 0) > 20))
    const others = store.lines().filter(line => 'v' in line && line.v !== 2)
    t.same(
      others.map(({ seq }) => seq),
      [3, 20],
      'what is appended keeps the version of the store',
    )
    await store.verified(t)
  }
})
