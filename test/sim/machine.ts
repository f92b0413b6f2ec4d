import { Buffer } from 'node:buffer'
import { constants } from 'node:fs'
import {
  type Fault,
  type Prng,
  pageBytes,
  SimClock,
  SimFs,
  SimLock,
  sectorBytes,
  unsyncedSectors,
} from '../kit/index.js'
import type { Tally } from './tally.js'
import { expect } from './violation.js'

const dayMs = 24 * 3600 * 1000

/** The machine a simulated process runs on, and what goes wrong with it. */
export class Machine {
  readonly clock: SimClock = new SimClock()
  readonly lock: SimLock = new SimLock()
  fs: SimFs = new SimFs()
  /** Everything that happened here. */
  readonly log: string[] = []
  readonly #random: Prng
  readonly #tally: Tally
  #isTroubled = false
  #isTearing = false
  #latestWallMs: number = this.clock.wallMs()

  constructor(random: Prng, tally: Tally) {
    this.#random = random
    this.#tally = tally
    this.fs.plantDir('/kim')
  }

  /** True while a call may fail for no fault of the code. */
  get isTroubled(): boolean {
    return this.#isTroubled
  }

  get isFull(): boolean {
    return this.fs.freeBytes !== Number.POSITIVE_INFINITY
  }

  /** The latest wall clock that anybody saw here. */
  get latestWallMs(): number {
    return this.#latestWallMs
  }

  note(what: string): void {
    this.log.push(`${String(this.fs.calls).padStart(5)} ${what}`)
  }

  /** One of the next calls goes wrong. */
  #arm(fault: Fault): void {
    const at = this.fs.calls + this.#random.between(1, 40)
    this.note(`call ${at}: ${JSON.stringify(fault)}`)
    this.fs.failWhen(({ n }) => (n === at ? fault : undefined))
  }

  doom(): void {
    if (this.#random.chance(0.4)) {
      this.#tear()
      return
    }
    this.#arm({ kind: 'die', when: this.#random.pick(['before', 'after'] as const) })
  }

  /** The power goes before the next sync of several sectors, and some of them are lost. */
  #tear(): void {
    this.note('the power goes before the next sync of several sectors')
    this.fs.failWhen(({ name }) => {
      if (name !== 'fdatasync' || !this.#unsynced(this.fs).some(({ sectors }) => sectors.length > 1)) return
      this.#isTearing = true
      return { kind: 'die', when: 'before' }
    })
  }

  /** Files with appended bytes that are not durable. */
  #unsynced({ disk }: SimFs): readonly { readonly ino: number; readonly sectors: readonly number[] }[] {
    return disk.unsyncedFiles().flatMap(({ ino }) => {
      const node = disk.node(ino)
      return node.kind === 'file' ? [{ ino, sectors: unsyncedSectors(node) }] : []
    })
  }

  trouble(): void {
    this.#isTroubled = true
    const fault: Fault = { kind: 'error', code: 'EIO', after: this.#random.chance(0.3) }
    if (this.#random.chance(0.6)) {
      this.#arm(fault)
      return
    }
    this.note('the next sync fails')
    let isDone = false
    this.fs.failWhen(({ name }) => {
      if (isDone || (name !== 'fdatasync' && name !== 'fsync')) return undefined
      isDone = true
      return fault
    })
  }

  /** From here on nothing goes wrong by itself. */
  calm(): void {
    this.fs.failWhen(undefined)
    this.fs.freeBytes = Number.POSITIVE_INFINITY
    this.#isTroubled = false
  }

  full(): void {
    if (this.isFull) {
      this.fs.freeBytes = Number.POSITIVE_INFINITY
      this.note('there is room again')
      return
    }
    this.fill(this.#random.pick([0, this.#random.int(300), this.#random.int(3000)]))
  }

  /** There is room for so much and no more. */
  fill(bytes: number): void {
    this.fs.freeBytes = bytes
    this.note(`${bytes} bytes left on the disk`)
  }

  passTime(): void {
    const how = this.#random.weighted({ pass: 4, back: 1, farBack: 1, month: 1 })
    const jumpMs = { back: -this.#random.int(dayMs), farBack: -this.#random.between(20, 40) * dayMs }
    if (how === 'pass') this.clock.advance(this.#random.int(60_000))
    else this.clock.jumpWall(how === 'month' ? this.#random.between(20, 40) * dayMs : jumpMs[how])
    this.#latestWallMs = Math.max(this.#latestWallMs, this.clock.wallMs())
    this.note(`time: ${how}`)
  }

  /** Somebody who heeds no lock appends to a file. */
  intrude(path: string): void {
    this.fs.failWhen(undefined)
    const fd = this.fs.openSync(path, constants.O_WRONLY | constants.O_APPEND)
    this.fs.writeSync(fd, Buffer.from('{"v":2,"intr'))
    this.fs.closeSync(fd)
    this.note(`an intruder writes to ${path}`)
    this.#isTroubled = true
  }

  /** The power is lost, and everything that is not durable. */
  loseAll(): void {
    this.note('all is lost that is not durable')
    this.fs = this.fs.crash({ names: 0, units: new Map() })
    this.lock.freeAll()
  }

  /** Any of the sectors, or of the pages, that were not durable. */
  #lostSectors(): ReadonlyMap<number, ReadonlySet<number>> {
    const random = this.#random
    const lost = new Map<number, ReadonlySet<number>>()
    if (!this.#isTearing && random.chance(0.4)) return lost
    const unitBytes = random.pick([sectorBytes, pageBytes])
    const unitOf = (sector: number): number => Math.floor((sector * sectorBytes) / unitBytes)
    const share = random.pick([0.1, 0.3, 0.7])
    for (const { ino, sectors } of this.#unsynced(this.fs)) {
      const missing = new Set([...new Set(sectors.map(unitOf))].filter(() => random.chance(share)))
      if (missing.size > 0) lost.set(ino, new Set(sectors.filter(sector => missing.has(unitOf(sector)))))
    }
    if (lost.size > 0) this.#tally.count('crash: sectors lost')
    return lost
  }

  /** The process is dead. The machine goes on, or loses power and with it any part of what was not durable. */
  die(): void {
    const random = this.#random
    const before = this.fs
    expect(before.misuse.length === 0, () => before.misuse.join('; '))
    const how = this.#isTearing
      ? 'everything'
      : random.weighted({ restart: 2, nothing: 3, everything: 1, some: 4 })
    this.#tally.count(`crash: ${how}`)
    if (how === 'restart') this.fs = before.restart()
    else {
      const names = before.disk.names.length
      const units = new Map<number, number>()
      for (const file of before.disk.unsyncedFiles()) {
        const part = random.weighted({ none: 1, all: 1, some: 2 })
        if (how === 'everything' || (how === 'some' && part === 'all')) units.set(file.ino, file.units)
        else if (how === 'some' && part === 'some') units.set(file.ino, random.int(file.units + 1))
      }
      const kept = how === 'everything' ? names : how === 'nothing' ? 0 : random.between(0, names)
      this.fs = before.crash({ names: kept, units, lost: this.#lostSectors() })
    }
    this.fs.freeBytes = before.freeBytes
    this.note(`down (${how})`)
    this.#isTroubled = false
    this.#isTearing = false
    this.lock.freeAll()
  }
}
