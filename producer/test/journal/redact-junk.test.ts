import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type EventRecord, encodeRecord, type JsonObject, segmentName } from '@kim/manifest'
import { type RedactReport, redactStore } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { holding } from '../kit/holding.js'
import { message, TestStore, throwsCode } from '../kit/store.js'

const SECRET = 'the launch code is 0000'

/** A store with a secret in a line, in a blob and in a checkpoint. */
function secretive(t: Test): TestStore {
  const store = new TestStore(t)
  store.with(
    journal => {
      journal.append([message(1, {}, { content: SECRET })])
      journal.append([message(1, { action: 'update' }, { content: SECRET + 'y'.repeat(70_000) })])
      journal.checkpoint()
      journal.append([message(2)])
    },
    { gc: false },
  )
  return store
}

function redact(store: TestStore, item_id = 'river/1'): RedactReport {
  return redactStore({
    ...store.options({ gc: false }),
    target: { item_type: 'message', item_id },
    reason: 'x',
  })
}

/** The blob directory that the secret's blob stands in. */
function blobDirectory(store: TestStore): string {
  const [name = ''] = readdirSync(store.paths.blobs).filter(entry => /^[0-9a-f]{2}$/.test(entry))
  return join(store.paths.blobs, name)
}

const sealed = (store: TestStore): string => store.segments()[0] ?? ''

const junk: Readonly<Record<string, (store: TestStore) => void>> = {
  'a stray file in blobs': store => writeFileSync(join(store.paths.blobs, '.DS_Store'), 'x'),
  'a stray directory in blobs': store => mkdirSync(join(store.paths.blobs, 'lost+found')),
  'a stray directory beside a blob': store => mkdirSync(join(blobDirectory(store), 'lost+found')),
  'a directory named as a blob': store => mkdirSync(join(blobDirectory(store), 'a'.repeat(64))),
  'a blob that never got its name': store => {
    writeFileSync(join(blobDirectory(store), `.${'b'.repeat(64)}.tmp`), SECRET)
  },
  'an archived copy that differs (G3)': store => {
    const bytes = readFileSync(store.segment(sealed(store)))
    writeFileSync(join(store.paths.archive, sealed(store)), `${bytes}{"v":2}\n`, { mode: 0o600 })
  },
  'an archived copy that is broken (G4)': store => {
    writeFileSync(join(store.paths.archive, `${sealed(store)}.gz`), SECRET, { mode: 0o600 })
  },
  'an archived copy that is the same (G2)': store => {
    const bytes = readFileSync(store.segment(sealed(store)))
    writeFileSync(join(store.paths.archive, `${sealed(store)}.gz`), gzipSync(bytes), { mode: 0o600 })
  },
  'two archived copies that differ': store => {
    const name = sealed(store)
    const bytes = readFileSync(store.segment(name))
    renameSync(store.segment(name), join(store.paths.archive, name))
    const packed = gzipSync(bytes.subarray(0, bytes.length - 1))
    writeFileSync(join(store.paths.archive, `${name}.gz`), packed, { mode: 0o600 })
  },
}

for (const [what, put] of Object.entries(junk)) {
  t.test(`redact - ${what} keeps nothing from being finished (JF-76)`, async t => {
    const store = secretive(t)
    put(store)
    t.equal(redact(store).records, 2)
    t.same(holding(store.paths.events, SECRET), [])
    store.with(journal => journal.append([message(3)]), { gc: false })
    await store.verified(t)
  })
  t.test(`redact - ${what} keeps no open from finishing what a crash left (D4 to D6)`, async t => {
    for (const call of ['renameSync', 'unlinkSync'] as const) {
      const store = secretive(t)
      store.fs.fault = ({ name }) =>
        name === call && store.notes('redaction').length > 0 ? 'EIO' : undefined
      throwsCode(t, 'store_failed', () => redact(store))
      store.fs.heal()
      put(store)
      store.with(journal => journal.append([message(3)]), { gc: false })
      t.same(holding(store.paths.events, SECRET), [])
      await store.verified(t)
    }
  })
}

t.test('redact - a checkpoint that cannot be built keeps no journal from being opened (D6)', async t => {
  const store = secretive(t)
  store.fs.fault = ({ name, path }) => (name === 'openSync' && /ckpt-.*tmp$/.test(path) ? 'EIO' : undefined)
  throwsCode(t, 'store_failed', () => redact(store))
  store.fs.heal()
  store.with(journal => journal.append([message(3)]))
  t.same(holding(store.paths.events, SECRET), [])
  await store.verified(t)
})

t.test('redact - a reason too long for a note leaves nothing behind', async t => {
  const store = secretive(t)
  const target = { item_type: 'message', item_id: 'river/1' }
  throwsCode(t, 'record_too_large', () =>
    redactStore({ ...store.options(), target, reason: 'y'.repeat(70_000) }),
  )
  t.same(
    readdirSync(store.paths.events).filter(name => name.endsWith('.tmp')),
    [],
  )
  t.equal(store.notes('redaction').length, 0)
  await store.verified(t)
})

/** Sealed segments of one record each, as a writer would have made them over the years. */
function longStory(store: TestStore, segments: number): void {
  store.with(journal => journal.append([message(1, {}, { content: SECRET })]), { gc: false })
  rmSync(store.paths.meta)
  const [genesis, first] = store.lines() as unknown as EventRecord[]
  if (genesis === undefined || first === undefined) throw new TypeError('a store begins with two records')
  let before = { name: sealed(store), bytes: readFileSync(store.segment()), first: 1 }
  for (let n = 1; n <= segments; n++) {
    const seq = 2 * n + 1
    const payload: JsonObject = {
      kind: 'segment_sealed',
      schema_version: 1,
      project_id: genesis.payload?.['project_id'],
      segment: before.name,
      bytes: before.bytes.length,
      sha256: createHash('sha256').update(before.bytes).digest('hex'),
      first_seq: before.first,
      last_seq: seq - 1,
    }
    const seal = encodeRecord({ ...genesis, seq, item_id: 'segment_sealed', summary: 'sealed', payload })
    const bytes = Buffer.from(
      seal + encodeRecord({ ...first, seq: seq + 1, action: 'update', entity_rev: n + 1 }),
    )
    before = { name: segmentName(seq), bytes, first: seq }
    writeFileSync(store.segment(before.name), bytes, { mode: 0o600 })
  }
}

t.test('redact - an entity in more segments than one commit of notes can name (JF-37)', async t => {
  const store = new TestStore(t)
  longStory(store, 260)
  t.equal(redact(store).records, 261)
  t.same(holding(store.paths.events, SECRET), [])
  t.same(
    store.notes('redaction').map(({ payload }) => [payload?.['part'], payload?.['parts']]),
    [...[1, 2, 3, 4].map(part => [part, 4]), [1, 1]],
    'each payload is inline, and says which part of its commit it is',
  )
  await store.verified(t)
})

const unsafe: Readonly<Record<string, (directory: string, t: Test) => void>> = {
  'a symbolic link': (directory, t) => {
    const elsewhere = t.testdir()
    rmSync(directory, { recursive: true })
    symlinkSync(elsewhere, directory)
  },
  'writable by others': directory => chmodSync(directory, 0o777),
  'a file': directory => {
    rmSync(directory, { recursive: true })
    writeFileSync(directory, '')
  },
}

for (const [what, make] of Object.entries(unsafe)) {
  t.test(`blobs - a directory below that is ${what} ends an open and an append with 77 (JF-86)`, async t => {
    const store = secretive(t)
    const directory = blobDirectory(store)
    const payload = { content: SECRET + 'y'.repeat(70_000) }
    store.with(
      journal => {
        make(directory, t)
        t.throws(() => journal.append([message(1, { action: 'update' }, payload)]), {
          code: 'not_permitted',
          exitCode: 77,
          message: new RegExp(directory),
        })
      },
      { gc: false },
    )
    t.throws(() => store.open(), { code: 'not_permitted', exitCode: 77 })
    t.throws(() => redact(store), { code: 'not_permitted', exitCode: 77 })
  })
}

t.test('blobs - a directory below that others may read is tightened', async t => {
  const store = secretive(t)
  const directory = blobDirectory(store)
  chmodSync(directory, 0o755)
  store.with(() => undefined)
  t.equal(statSync(directory).mode & 0o777, 0o700)
  t.match(store.logged, [{ code: 'tightened' }])
})
