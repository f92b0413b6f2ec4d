import { isDeepStrictEqual } from 'node:util'
import type { Journal } from '@kim/producer/internal'
import { JournalText } from './journal-text.js'
import type { Machine } from './machine.js'
import type { Oracle } from './oracle.js'
import { outcomeOf } from './outcome.js'
import { expect } from './violation.js'

/** Holds what a journal shows and what stands on its disk against the oracle. */
export class Witness {
  readonly text: JournalText = new JournalText()
  readonly #oracle: Oracle
  readonly #machine: Machine

  constructor(oracle: Oracle, machine: Machine) {
    this.#oracle = oracle
    this.#machine = machine
  }

  /** Whoever asks a living process is shown its head, and may rely on it. */
  see(journal: Journal | undefined): void {
    if (journal !== undefined && !this.#machine.fs.dead) this.#oracle.see(journal.head.seq)
  }

  /** The text is what the oracle says, whenever it is known what the disk holds. */
  observe(journal: Journal | undefined): void {
    const { fs } = this.#machine
    if (journal === undefined || fs.dead || !journal.isSettled || journal.failure !== undefined) return
    this.#oracle.observe(this.text.read(fs))
    const sealedBelow = this.text.newestNumber(fs)
    for (const head of [journal.checkpointSeq, ...this.text.checkpoints(fs)]) {
      expect(head < sealedBelow, () => `a checkpoint of ${head}, sealed is what stands below ${sealedBelow}`)
    }
  }

  /** The state that the journal shows is the oracle's. False if the process died of the look. */
  look(journal: Journal): boolean {
    if (!journal.isSettled) return true
    this.observe(journal)
    const { live } = this.#oracle
    expect(
      journal.state.size === live.size,
      () => `${journal.state.size} entities are live, not ${live.size}`,
    )
    for (const { type, id, rev, payload } of live.values()) {
      let view: ReturnType<typeof journal.state.get>
      try {
        view = journal.state.get(type, id)
      } catch (error) {
        if (this.#machine.fs.dead) return false
        // A read that failed harms nobody but who asked.
        if (this.#machine.isTroubled && outcomeOf(error) === 'failed') return true
        throw error
      }
      expect(view?.entity_rev === rev, () => `${type} ${id}: revision ${view?.entity_rev}, not ${rev}`)
      expect(isDeepStrictEqual(view?.payload, payload), () => `${type} ${id}: shows another payload`)
    }
    return true
  }
}
