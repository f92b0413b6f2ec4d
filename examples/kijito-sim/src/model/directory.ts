import type { Mail } from './mail.js'
import type { Settings } from './settings.js'

/** Members of a persona's row that a script sets, over those that follow from its mail. */
export type RowOverride = Readonly<Record<string, unknown>>

/** Who belongs to the account, in the order they came. */
export class Directory {
  readonly #rows = new Map<string, { override: RowOverride; omit: readonly string[] }>()

  /** Adds a persona, or sets members of its row. */
  put(persona: string, override: RowOverride = {}, omit: readonly string[] = []): void {
    const before = this.#rows.get(persona)
    this.#rows.set(persona, { override: { ...before?.override, ...override }, omit })
  }

  remove(persona: string): boolean {
    return this.#rows.delete(persona)
  }

  names(): string[] {
    return [...this.#rows.keys()]
  }

  /** The rows as the server gives them. */
  rows(mail: Mail, settings: Settings): Record<string, unknown>[] {
    const names = new Set(this.#rows.keys())
    if (settings.listsRecipients)
      for (const name of mail.personas()) if (mail.inbox(name).length > 0) names.add(name)
    return Array.from(names, persona => this.#row(persona, mail, settings))
  }

  #row(persona: string, mail: Mail, settings: Settings): Record<string, unknown> {
    const own = this.#rows.get(persona)
    const known: Record<string, unknown> = {
      // Somebody who was only ever written to owns nothing.
      memory_count: own === undefined ? 0 : 12,
      projects: own === undefined ? [] : [{ name: 'kim', count: 3 }],
      mail_total: mail.inbox(persona).length,
      unread: mail.unread(persona).unread,
      retired: false,
      write_only: false,
    }
    const members = settings.directoryMembers.map(name => [name, known[name]] as const)
    const row = { persona, ...Object.fromEntries(members), ...own?.override }
    return Object.fromEntries(Object.entries(row).filter(([name]) => own?.omit.includes(name) !== true))
  }
}
