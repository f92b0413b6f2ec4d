import { type AsyncReplaceDisk, type ReplaceDisk, replaceFile, replaceFileAsync } from '@kim/manifest'
import t from 'tap'

const TARGET = '/d/cursor.json'
const DRAFT = '/d/cursor.json.1.tmp'
const CHUNKS = [Buffer.from('new '), Buffer.from(''), Buffer.from('bytes')]
const NEW = 'new bytes'

type Call = keyof ReplaceDisk<string>

/** A disk in memory that logs its calls and fails the one it is told to, before the call has any effect. */
class ModelDisk implements Required<ReplaceDisk<string>> {
  readonly files = new Map<string, string>()
  readonly open = new Set<string>()
  readonly calls: Call[] = []
  failing: readonly number[] = []
  bytesMax = Number.POSITIVE_INFINITY

  #called(call: Call): void {
    this.calls.push(call)
    if (this.failing.includes(this.calls.length - 1)) throw failureOf(call, 'EIO')
  }

  create(path: string): string {
    this.#called('create')
    if (this.files.has(path)) throw failureOf('create', 'EEXIST')
    this.files.set(path, '')
    this.open.add(path)
    return path
  }

  write(file: string, bytes: Uint8Array): number {
    this.#called('write')
    const taken = bytes.subarray(0, this.bytesMax)
    this.files.set(file, `${this.files.get(file)}${Buffer.from(taken).toString()}`)
    return taken.length
  }

  sync(): void {
    this.#called('sync')
  }

  close(file: string): void {
    this.open.delete(file)
    this.#called('close')
  }

  rename(from: string, to: string): void {
    this.#called('rename')
    this.files.set(to, this.files.get(from) ?? 'nothing')
    this.files.delete(from)
  }

  remove(path: string): void {
    this.#called('remove')
    this.files.delete(path)
  }

  syncDirectory(path: string): void {
    this.#called('syncDirectory')
    if (path !== '/d') throw failureOf('syncDirectory', 'ENOENT')
  }
}

function failureOf(call: Call, code: string): Error {
  return Object.assign(new Error(`${code}: ${call}`), { code })
}

/** The same disk, answering in a later turn. */
function later(disk: ModelDisk): AsyncReplaceDisk<string> {
  const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
  return {
    create: async path => turn().then(() => disk.create(path)),
    write: async (file, bytes) => turn().then(() => disk.write(file, bytes)),
    sync: async () => turn().then(() => disk.sync()),
    close: async file => turn().then(() => disk.close(file)),
    rename: async (from, to) => turn().then(() => disk.rename(from, to)),
    remove: async path => turn().then(() => disk.remove(path)),
    syncDirectory: async path => turn().then(() => disk.syncDirectory(path)),
  }
}

const replacement = { target: TARGET, draft: DRAFT, chunks: CHUNKS }

const WAYS: Readonly<Record<string, (disk: ModelDisk) => Promise<void>>> = {
  'at once': async disk => replaceFile<string>(disk, replacement),
  later: disk => replaceFileAsync(later(disk), replacement),
}

/** A disk after one replacement, and what that threw. */
async function after(
  way: (disk: ModelDisk) => Promise<void>,
  prepare: (disk: ModelDisk) => void,
): Promise<{ readonly disk: ModelDisk; readonly error: unknown }> {
  const disk = new ModelDisk()
  disk.files.set(TARGET, 'old')
  prepare(disk)
  const error: unknown = await way(disk).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  return { disk, error }
}

for (const [name, way] of Object.entries(WAYS)) {
  t.test(
    `replace file ${name} - bytes are durable before they get their name, and the name after`,
    async t => {
      const { disk, error } = await after(way, () => {})
      t.equal(error, undefined)
      t.same(disk.calls, ['create', 'write', 'write', 'sync', 'close', 'rename', 'syncDirectory'])
      t.same([...disk.files], [[TARGET, NEW]])
    },
  )

  t.test(
    `replace file ${name} - a failure of any call leaves the old file or the new one, whole`,
    async t => {
      const { disk: whole } = await after(way, () => {})
      for (const [at, call] of whole.calls.entries()) {
        const { disk, error } = await after(way, disk => {
          disk.failing = [at]
        })
        t.match(error, { message: `EIO: ${call}` }, `${call} is what failed`)
        const isNew = call === 'syncDirectory'
        t.same([...disk.files], [[TARGET, isNew ? NEW : 'old']], `${call}: no draft is left`)
        t.equal(disk.open.size, 0, `${call}: no file is left open`)
      }
    },
  )

  t.test(`replace file ${name} - a failure that follows does not hide the first`, async t => {
    for (const first of [1, 3]) {
      const { disk, error } = await after(way, disk => {
        disk.failing = [first, first + 1, first + 2]
      })
      t.match(error, { message: `EIO: ${first === 1 ? 'write' : 'sync'}` })
      t.same(disk.calls.slice(first + 1), ['close', 'remove'])
      t.equal(disk.files.get(TARGET), 'old')
    }
  })

  t.test(`replace file ${name} - a disk that takes a part of the bytes is given the rest`, async t => {
    const { disk, error } = await after(way, disk => {
      disk.bytesMax = 2
    })
    t.equal(error, undefined)
    t.equal(disk.files.get(TARGET), NEW)
  })

  t.test(`replace file ${name} - a disk that takes nothing is full`, async t => {
    const { disk, error } = await after(way, disk => {
      disk.bytesMax = 0
    })
    t.match(error, { code: 'store_full' })
    t.same([...disk.files], [[TARGET, 'old']])
  })

  t.test(`replace file ${name} - the draft of a writer that died is removed first`, async t => {
    const { disk, error } = await after(way, disk => void disk.files.set(DRAFT, 'half'))
    t.equal(error, undefined)
    t.same(disk.calls.slice(0, 3), ['create', 'remove', 'create'])
    t.same([...disk.files], [[TARGET, NEW]])
    const blocked = await after(way, disk => {
      disk.files.set(DRAFT, 'half')
      disk.failing = [1]
    })
    t.match(blocked.error, { message: 'EIO: remove' })
    t.equal(blocked.disk.files.get(TARGET), 'old')
  })
}

t.test('replace file - chunks that end in a failure leave the old file', async t => {
  const disk = new ModelDisk()
  function* chunks(): Generator<Uint8Array> {
    yield Buffer.from('half')
    throw failureOf('write', 'EIO')
  }
  t.throws(() => replaceFile<string>(disk, { ...replacement, chunks: chunks() }), { code: 'EIO' })
  t.equal(disk.files.size, 0)
  t.equal(disk.open.size, 0)
})

t.test('replace file - syncs nothing on a disk that leaves it out', async t => {
  const model = new ModelDisk()
  const loose: ReplaceDisk<string> = {
    create: path => model.create(path),
    write: (file, bytes) => model.write(file, bytes),
    close: file => model.close(file),
    rename: (from, to) => model.rename(from, to),
    remove: path => model.remove(path),
  }
  replaceFile(loose, replacement)
  t.same(model.calls, ['create', 'write', 'write', 'close', 'rename'])
  t.equal(model.files.get(TARGET), NEW)
})
