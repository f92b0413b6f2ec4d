import { randomBytes } from 'node:crypto'
import { heartbeatEvent, type MonitorEvent, readHostClocks } from '@kim/observer-sdk'
import type { Timers } from '../effects/timers.js'

/** A persona that is watched, and what it has come to; undefined before its first healthy poll. */
export interface Watched {
  readonly persona: string
  readonly cursor: number | undefined
}

/** Signs of life: no record stands for one, so it is the one event that the printing process makes itself. */
export class Heartbeats {
  readonly #everyMs: number
  readonly #timers: Timers
  readonly #watched: () => readonly Watched[]
  readonly #hand: (events: readonly MonitorEvent[]) => void
  readonly #run = randomBytes(8).toString('hex')
  #count = 0
  #stop: () => void = () => undefined

  constructor(
    everyMs: number,
    timers: Timers,
    watched: () => readonly Watched[],
    hand: (events: readonly MonitorEvent[]) => void,
  ) {
    this.#everyMs = everyMs
    this.#timers = timers
    this.#watched = watched
    this.#hand = hand
  }

  start(): void {
    this.#stop = this.#timers.after(this.#everyMs, () => {
      this.#hand(this.#watched().map(one => this.#event(one)))
      this.start()
    })
  }

  stop(): void {
    this.#stop()
  }

  #event({ persona, cursor }: Watched): MonitorEvent {
    this.#count++
    const id = `${persona}:heartbeat:${this.#run}-${this.#count}`
    return heartbeatEvent(persona, cursor, id, readHostClocks(this.#count), process.platform)
  }
}
