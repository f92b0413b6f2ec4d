/**
 * Followers of a journal whose files are taken away, replaced and put back while they read, and who leave and come
 * back: nobody misses a record untold, is handed one twice for no reason, or ends with a state that a new observer
 * does not come to. Real files and real time, so a seed repeats what is done and not when: soak only.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventsPaths } from '@kim/manifest'
import { type Change, memoryCursors, type Observer, openTail, type RecordTail } from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import { type Journal, openJournal, redactStore } from '@kim/producer/internal'
import t from 'tap'
import { fastTmpdir, isSoak, Prng, seedsToRun } from '../kit/index.js'

const seeds = seedsToRun(isSoak() ? 30 : 1)
const ROUNDS = 20
const STEPS = 6
const PATIENCE_MS = 60_000
const NAPS = 0.1
const NAP_MS = 1500
const source = 'http://localhost:7474'

type Follower = Observer | RecordTail

/** Takes what it is handed and accounts for every seq of a journal without holes. */
class Consumer {
  readonly wrong: string[] = []
  readonly #open: () => Promise<Follower>
  readonly #random: Prng
  /** Whether a rewind may be told: the end of the journal was away. */
  mayRewind = false
  /** The seq that it has to be handed next, or told of. */
  #next = 1
  /** Whether what was handed over already may come again. */
  #mayRepeat = false
  #follower: Follower | undefined
  #taking: Promise<void> = Promise.resolve()
  #isLeaving = false

  constructor(open: () => Promise<Follower>, random: Prng) {
    this.#open = open
    this.#random = random
  }

  get next(): number {
    return this.#next
  }

  get follower(): Follower | undefined {
    return this.#follower
  }

  async begin(): Promise<void> {
    this.#follower = await this.#open()
    this.#taking = this.#take(this.#follower)
  }

  /** Closes in the middle of whatever happens, and opens anew. */
  async restart(): Promise<void> {
    await this.end()
    this.#mayRepeat = true
    await this.begin()
  }

  /** Leaves the iteration with a change in hand, and begins another one. */
  leave(): void {
    this.#isLeaving = true
  }

  async end(): Promise<void> {
    await this.#follower?.close()
    await this.#taking
  }

  async #take(follower: Follower): Promise<void> {
    for (;;) {
      this.#isLeaving = false
      for await (const change of follower.changes()) {
        this.#account(change)
        if (this.#random.chance(0.2)) await sleep(this.#random.int(80))
        // Meanwhile what it reads next is sealed, rewritten and parked.
        else if (this.#random.chance(NAPS)) await sleep(this.#random.int(NAP_MS))
        if (this.#isLeaving) break
      }
      if (!this.#isLeaving) return
      this.#mayRepeat = true
    }
  }

  #account({ gap, records }: Change): void {
    if (gap?.reason === 'rewound') {
      if (!this.mayRewind) this.wrong.push(`was told of a rewind of ${gap.from} to ${gap.to}`)
      this.#mayRepeat = true
    } else if (gap !== undefined && gap.from <= this.#next) this.#next = Math.max(this.#next, gap.to + 1)
    for (const { seq } of records) {
      if (seq > this.#next) this.wrong.push(`was handed ${seq} and never ${this.#next}`)
      if (seq < this.#next && !this.#mayRepeat) this.wrong.push(`was handed ${seq} again`)
      this.#mayRepeat = false
      this.#next = seq + 1
    }
  }
}

/** Writes, and does and undoes damage while it does not. */
class Scene {
  readonly eventsDir: string
  readonly #home: string
  readonly #random: Prng
  #journal: Journal
  #id = 0

  constructor(home: string, random: Prng) {
    this.#home = home
    this.#random = random
    this.eventsDir = join(home, 'store', 'events')
    mkdirSync(join(home, 'away'))
    this.#journal = this.#open()
  }

  get head(): number {
    return this.#journal.head.seq
  }

  close(): void {
    this.#journal.close()
  }

  append(count: number): void {
    const drafts = Array.from({ length: count }, () => this.#draft())
    this.#journal.append(drafts, { tx: count > 1 && this.#random.chance(0.5) })
  }

  /** One of the things that a journal does. */
  async act(): Promise<void> {
    const journal = this.#journal
    const kind = this.#random.weighted({
      append: 8,
      burst: 1,
      roll: 1,
      checkpoint: 1,
      gc: 1,
      redact: 0.5,
      bury: 1.5,
    })
    if (kind === 'append') this.append(1 + this.#random.int(20))
    else if (kind === 'burst') this.append(400)
    else if (kind === 'redact') await this.#redact(2 + this.#random.int(this.head))
    else if (kind === 'bury') await this.#bury()
    else journal[kind]()
    await this.#upkeep()
  }

  async #upkeep(): Promise<void> {
    const journal = this.#journal
    while (journal === this.#journal && journal.upkeep()) await sleep(0)
  }

  /** Rewrites what was just written and parks it, all at once: whoever naps meanwhile goes on reading in there. */
  async #bury(): Promise<void> {
    const seq = Math.max(2, this.head - this.#random.int(20))
    this.append(10)
    this.#journal.roll()
    this.append(1)
    this.#journal.checkpoint()
    await this.#upkeep()
    await this.#redact(seq)
    this.#journal.gc()
  }

  /** Takes something away for a moment, and says whether the end of the journal is. */
  async damage(onTaken: (isEnd: boolean) => void): Promise<void> {
    this.close()
    const undo = this.#take(onTaken)
    await sleep(this.#random.int(120))
    undo()
    this.#journal = this.#open()
  }

  #take(onTaken: (isEnd: boolean) => void): () => void {
    const { archive, checkpoints } = eventsPaths(this.eventsDir)
    const live = readdirSync(this.eventsDir).filter(name => name.startsWith('seg-'))
    const segment = join(this.eventsDir, this.#random.pick(live))
    const newest = join(this.eventsDir, live.at(-1) ?? '')
    const kind = this.#random.pick([
      'segment',
      'newest',
      'copy',
      'folder',
      'archive',
      'checkpoints',
      'events',
    ])
    if (kind === 'copy') {
      const copy = join(this.#home, 'away', 'copy')
      copyFileSync(segment, copy)
      renameSync(copy, segment)
      return () => undefined
    }
    const places = { segment, newest, folder: newest, archive, checkpoints, events: this.eventsDir }
    const path = places[kind as keyof typeof places]
    if (!existsSync(path)) return () => undefined
    const away = join(this.#home, 'away', 'it')
    onTaken(path === newest || kind === 'events')
    renameSync(path, away)
    if (kind === 'folder') mkdirSync(path)
    return () => {
      if (kind === 'folder') rmSync(path, { recursive: true })
      renameSync(away, path)
    }
  }

  async #redact(seq: number): Promise<void> {
    const storeDir = join(this.#home, 'store')
    this.close()
    try {
      await redactStore({ storeDir, source, target: { seq }, reason: 'a test' })
    } catch {
      // Not every record can be redacted.
    }
    this.#journal = this.#open()
  }

  #open(): Journal {
    const segmentBytes = 6000 + this.#random.int(30_000)
    return openJournal({
      storeDir: join(this.#home, 'store'),
      source,
      segmentBytes,
      gzip: this.#random.chance(0.5),
    })
  }

  #draft(): Parameters<Journal['append']>[0][number] {
    const random = this.#random
    const agent = random.pick(['river', 'argus', 'loom'])
    const isNew = this.#id === 0 || random.chance(0.7)
    const id = isNew ? ++this.#id : 1 + random.int(this.#id)
    // Retention alone removes messages.
    const item = { agent, item_type: 'binding', item_id: `${agent}/${id}`, summary: 'tests are green' }
    if (!isNew && random.chance(0.3)) return { ...item, action: 'delete' }
    const payload = {
      schema_version: 1,
      persona: agent,
      id,
      content: 'x'.repeat(random.int(300)),
      read: false,
    }
    return { ...item, action: isNew ? 'create' : 'update', payload }
  }
}

const pace = { slowMs: 25, fastMs: 25 }

/** Everything that was found wrong, and nothing else. */
async function run(seed: number, home: string): Promise<string[]> {
  const random = new Prng(seed)
  const scene = new Scene(home, random)
  const { eventsDir } = scene
  const ways = [
    () => openObserverWith({ eventsDir, cursors, from: 'start' as const }, { pace }),
    () => openTail({ eventsDir, cursors, from: 'start' as const }),
  ]
  let cursors = memoryCursors()
  const consumers = [0, 0, 1, 1].map(way => {
    const own = memoryCursors()
    const open = (): Promise<Follower> => {
      cursors = own
      return (ways[way] as (typeof ways)[number])()
    }
    return new Consumer(open, new Prng(random.int(1e9)))
  })
  try {
    for (const consumer of consumers) await consumer.begin()
    for (let round = 0; round < ROUNDS; round++) {
      for (let step = 0; step < STEPS; step++) {
        await scene.act()
        if (random.chance(0.2)) {
          await scene.damage(isEnd => {
            for (const consumer of consumers) consumer.mayRewind ||= isEnd
          })
        }
        if (random.chance(0.15)) await random.pick(consumers).restart()
        if (random.chance(0.15)) random.pick(consumers).leave()
        await sleep(random.int(30))
      }
      const wrong = await settle(scene, consumers)
      for (const consumer of consumers) consumer.mayRewind = false
      if (wrong.length > 0) return wrong.map(what => `KIM_SEED=${seed}, round ${round}: ${what}`)
    }
    return []
  } finally {
    for (const consumer of consumers) await consumer.end()
    scene.close()
  }
}

/** Nothing more happens: everybody comes to the end, and to the state that one finds who opens now. */
async function settle(scene: Scene, consumers: readonly Consumer[]): Promise<string[]> {
  scene.append(1)
  const { eventsDir, head } = scene
  const fresh = await openObserverWith({ eventsDir, cursors: memoryCursors() }, {})
  const digest = fresh.digest()
  await fresh.close()
  const isThere = ({ next, follower }: Consumer): boolean =>
    next === head + 1 && (follower === undefined || !('digest' in follower) || follower.digest() === digest)
  const end = performance.now() + PATIENCE_MS
  while (!consumers.every(isThere) && performance.now() < end) await sleep(10)
  return consumers.flatMap((consumer, n) => [
    ...consumer.wrong.map(what => `consumer ${n} ${what}`),
    ...(isThere(consumer)
      ? []
      : [`consumer ${n} stands before ${consumer.next}, the head is ${head}, or has another state`]),
  ])
}

// The seeds are many, and each is bounded by its own patience.
t.setTimeout(0)

t.test(
  'followers - beside a saboteur miss nothing untold and end as one that opens now (OB-3, OB-47, OB-73)',
  {
    skip: !isSoak() && 'soak only',
    timeout: 0,
  },
  async t => {
    for (const seed of seeds) {
      const home = mkdtempSync(join(fastTmpdir(), 'kim-sabotage-'))
      try {
        const wrong = await run(seed, home)
        t.same(wrong, [])
        if (wrong.length > 0) return
      } finally {
        rmSync(home, { recursive: true, force: true })
      }
    }
    t.comment(`${seeds.length} seeds from ${seeds[0]}`)
  },
)
