/** One message in an inbox. */
export interface Message {
  readonly id: number
  readonly to: string
  readonly from: string
  readonly content: string
  readonly created: string
  readonly urgent: boolean
  read: boolean
}

/** What a message is made of; the rest is the server's to give. */
export interface Letter {
  readonly to: string
  readonly from: string
  readonly content: string
  readonly urgent?: boolean
  readonly read?: boolean
  readonly created?: string
  /** A number of its own, for scripts that need one; the counter goes on above it. */
  readonly id?: number
}

/** Every inbox of the account, in ascending order of ids, and the counter they share. */
export class Mail {
  readonly #inboxes = new Map<string, Message[]>()
  #nextId = 1
  #reads = 0

  /** Puts a message into an inbox. */
  deliver(letter: Letter, now: string): Message {
    const id = letter.id ?? this.#nextId
    this.#nextId = Math.max(this.#nextId, id + 1)
    const { to, from, content, urgent = false, read = false, created = now } = letter
    const message: Message = { id, to, from, content, created, urgent, read }
    const inbox = this.inbox(to)
    const at = inbox.findLastIndex(other => other.id < id) + 1
    inbox.splice(at, 0, message)
    return message
  }

  /** An inbox; the first touch makes one. */
  inbox(persona: string): Message[] {
    let inbox = this.#inboxes.get(persona)
    if (inbox === undefined) {
      inbox = []
      this.#inboxes.set(persona, inbox)
    }
    return inbox
  }

  /** Marks messages of an inbox as read or unread; without ids, all of them. */
  mark(persona: string, ids?: readonly number[], read = true): number {
    let changed = 0
    for (const message of this.inbox(persona)) {
      if (message.read === read || (ids !== undefined && !ids.includes(message.id))) continue
      message.read = read
      changed++
    }
    if (changed > 0) this.#reads++
    return changed
  }

  /** Removes messages; without ids, all of an inbox. */
  remove(persona: string, ids?: readonly number[]): number {
    const inbox = this.inbox(persona)
    const kept = inbox.filter(({ id }) => ids !== undefined && !ids.includes(id))
    const removed = inbox.length - kept.length
    this.#inboxes.set(persona, kept)
    return removed
  }

  /** Sets the next id: lower than before, as a server does with a new database. */
  startIdsAt(id: number): void {
    this.#nextId = id
  }

  /** Leaves ids out, as other accounts' mail does. */
  skipIds(count: number): void {
    this.#nextId += count
  }

  get lastId(): number {
    return this.#nextId - 1
  }

  /** How often mail was marked: part of the token where reading moves it. */
  get reads(): number {
    return this.#reads
  }

  personas(): IterableIterator<string> {
    return this.#inboxes.keys()
  }

  /** Unread mail as the counts give it: what somebody wrote to themselves does not raise theirs. */
  unread(persona: string): { readonly unread: number; readonly urgent: number } {
    let unread = 0
    let urgent = 0
    for (const message of this.#inboxes.get(persona) ?? []) {
      if (message.read || message.from === persona) continue
      unread++
      if (message.urgent) urgent++
    }
    return { unread, urgent }
  }
}
