/** What is made of the server's directory of personas: who else is watched, and which selected names it lacks. */
import { didYouMean } from '@kim/cli-kit'
import { limits } from '@kim/manifest'
import type { Answer, DirectoryEntry, PersonaDirectory } from '../source/source.js'
import { listOf } from './alerts.js'
import type { CoreNote, CoreState } from './core.js'

const RETRY_MIN_MS = 1000
const RETRY_MAX_MS = 30_000

/** The directory as it was last fetched, and when it is fetched again (KS-67). Only a watcher of all has one. */
export class DirectoryWatch {
  readonly #core: CoreState
  readonly #everyMs: number
  /** Undefined until one was fetched. */
  entries: ReadonlyMap<string, DirectoryEntry> | undefined
  /** When the request for these entries was sent. */
  sentMs: number = Number.NEGATIVE_INFINITY
  #askedMs = Number.NEGATIVE_INFINITY
  #isAsked = false
  #dueMs = Number.NEGATIVE_INFINITY
  #failures = 0

  constructor(core: CoreState) {
    this.#core = core
    this.#everyMs = core.options.rediscoverSeconds * 1000
  }

  /** Asks if it is time; says when the next time comes. */
  start(nowMs: number): number {
    if (this.#isAsked) return Number.POSITIVE_INFINITY
    if (this.#dueMs > nowMs) return this.#dueMs
    this.#isAsked = true
    this.#askedMs = nowMs
    this.#core.ask({ kind: 'directory' })
    return Number.POSITIVE_INFINITY
  }

  /** Wanted before its time: there is an unknown name, or one that an alert is about (KS-69, KS-63). */
  want(nowMs: number): void {
    if (this.#failures === 0) this.#dueMs = Math.min(this.#dueMs, nowMs)
  }

  answered(answer: Answer<PersonaDirectory>, nowMs: number): void {
    const core = this.#core
    const reason = answer.ok ? '' : answer.failure.reason
    const begins: CoreNote = {
      level: 'warn',
      code: 'directory_unavailable',
      message: `cannot fetch the list of personas from the server (${reason}): ${this.#watchedMeanwhile()}`,
      failure: reason,
    }
    const message = 'fetched the list of personas from the server again'
    const ends: CoreNote = { level: 'info', code: 'directory_available', message }
    core.noteChange('directory_unavailable', !answer.ok, begins, ends)
    this.#isAsked = false
    if (answer.ok) this.#fetched(answer.value, nowMs)
    else {
      // The old one stays in force.
      const retryMs = RETRY_MIN_MS * 2 ** Math.min(this.#failures, 10)
      this.#dueMs = nowMs + Math.min(RETRY_MAX_MS, this.#everyMs, retryMs)
      this.#failures++
    }
  }

  #fetched({ entries, refused }: PersonaDirectory, nowMs: number): void {
    const core = this.#core
    const isFirst = this.entries === undefined
    this.entries = new Map(entries.map(entry => [entry.persona, entry]))
    this.sentMs = this.#askedMs
    this.#dueMs = nowMs + this.#everyMs
    this.#failures = 0
    for (const name of refused) core.refuse(name)
    const added: string[] = []
    for (const { persona } of entries) {
      if (core.inboxes.has(persona)) continue
      if (core.inboxes.size >= limits.personasMax) this.#sayFull()
      else {
        core.watch(persona, nowMs, isFirst)
        added.push(persona)
      }
    }
    const message = `watches ${listOf(added)}, by the server's list of personas`
    if (added.length > 0)
      core.note({ level: 'info', code: 'watching', message, fields: { added: added.length } })
    core.areAlertsDirty = true
    core.isGenesisDirty = true
  }

  #watchedMeanwhile(): string {
    const { size } = this.#core.inboxes
    if (size === 0) return 'no inbox is watched until then; the producer retries by itself'
    return size === 1 ? 'the one known inbox is still watched' : `the ${size} known inboxes are still watched`
  }

  /** Once: rediscovery only adds, so it stays full as long as this process lives. */
  #sayFull(): void {
    const message = `${limits.personasMax} inboxes are watched, which is the maximum: other inboxes are ignored`
    const note: CoreNote = { level: 'warn', code: 'personas_full', message }
    this.#core.noteChange('personas_full', true, note, note)
  }
}

/**
 * The server answers for a mistyped inbox as if it were empty. If a selected inbox has no messages, neither there nor in
 * the journal, the directory is fetched, and each name that it does not list is logged once (KS-92). The inbox stays
 * watched, as the persona may come later. Only a watcher of a list has a name check.
 */
export class NameCheck {
  readonly #core: CoreState
  #listed: ReadonlySet<string> | undefined
  #isAsked = false
  #dueMs = Number.NEGATIVE_INFINITY
  /** An older directory says nothing about a name that was not judged by it. */
  #freshUntilMs = Number.NEGATIVE_INFINITY
  readonly #said = new Set<string>()

  constructor(core: CoreState) {
    this.#core = core
  }

  /** Logs what is known by now, and asks if it is time; says when the next time comes. */
  start(nowMs: number): number {
    if (this.#listed !== undefined) this.#judge(this.#listed, nowMs)
    if (this.#isAsked || this.#core.unproven.size === 0) return Number.POSITIVE_INFINITY
    if (this.#dueMs > nowMs) return this.#dueMs
    this.#isAsked = true
    this.#core.ask({ kind: 'directory' })
    return Number.POSITIVE_INFINITY
  }

  /** A request that failed says nothing: reading mail does not need the directory. */
  answered(answer: Answer<PersonaDirectory>, nowMs: number): void {
    this.#isAsked = false
    this.#dueMs = nowMs + this.#core.options.rediscoverSeconds * 1000
    if (!answer.ok) return
    this.#freshUntilMs = this.#dueMs
    this.#listed = new Set(answer.value.entries.map(({ persona }) => persona))
  }

  #judge(listed: ReadonlySet<string>, nowMs: number): void {
    const { unproven } = this.#core
    for (const name of unproven) {
      if (listed.has(name)) unproven.delete(name)
      else if (!this.#said.has(name) && nowMs < this.#freshUntilMs) {
        this.#said.add(name)
        this.#core.note({
          level: 'warn',
          code: 'persona_unlisted',
          persona: name,
          ...unlistedName(name, listed),
        })
      }
    }
    for (const name of this.#said) {
      if (unproven.has(name)) continue
      this.#said.delete(name)
      const message = 'the server now lists the persona'
      this.#core.note({ level: 'info', code: 'persona_listed', message, persona: name })
    }
  }
}

/** A name may be early, or mistyped: says what it may have been meant for (KS-92). */
export function unlistedName(
  name: string,
  listed: Iterable<string>,
): { readonly message: string; readonly hint: string } {
  const known = new Set(listed)
  const parts = name.split(',').map(part => part.trim())
  if (parts.length > 1 && parts.every(part => known.has(part))) {
    return {
      message: `the server lists no persona "${name}", but it lists ${parts.join(' and ')}`,
      hint: `\\, is a comma within a name; for several inboxes: ${parts.map(part => `--persona ${part}`).join(' ')}`,
    }
  }
  return {
    message: `the server lists no persona "${name}"${didYouMean(name, known)}`,
    hint: 'check the name (exact case); the server answers for an unknown inbox as if it were empty',
  }
}
