import { type AlertKind, isJsonObject, type JsonObject } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import type { StoredState } from '../journal/journal.js'
import { openAlert, parseAlertId } from './alert-kind.js'
import { bodyHash, NO_BODY } from './body-hash.js'
import { MessageIndex } from './message-index.js'
import { owesAnnouncement, type PersonaRecord, parsePersona } from './persona-record.js'
import { type Pin, pinOf } from './pin.js'

/** What the journal says about one persona. Nothing here outlives it: a process that starts reads it from there. */
export class Persona {
  readonly name: string
  /** Undefined until its record stands. */
  image: PersonaRecord | undefined
  /** The revision of its record; 0 if there never was one. */
  revision = 0
  /** Revisions of its record that retention made in this life of the process. */
  archivings = 0
  index: MessageIndex = new MessageIndex()
  readonly alerts: Map<AlertKind, JsonObject> = new Map()

  constructor(name: string) {
    this.name = name
  }

  get isDown(): boolean {
    return openAlert(this.alerts, 'unreachable') !== undefined
  }

  get pin(): Pin | undefined {
    return pinOf(this.alerts)
  }

  /** W(P) of KS-28. */
  get watermark(): number {
    return this.pin?.cursorAt ?? this.#top
  }

  /** The highest id that ever stood. */
  get #top(): number {
    return Math.max(this.image?.cursor ?? 0, this.index.highest)
  }

  /** What a record of it says as its `cursor` (KS-37). */
  get cursor(): number {
    if (this.isCountOwed && this.image !== undefined) return this.image.cursor
    return Math.min(this.watermark, this.#top)
  }

  /** Nothing at or below it is ever fetched: it is known, or it was there before this persona was watched. */
  get reach(): number {
    return Math.max(this.watermark, (this.image?.floor ?? 0) - 1)
  }

  /** True for an id that the journal has, or had until retention took it: it is never created again (JF-81). */
  hasHad(id: number): boolean {
    return this.index.has(id) || id < (this.image?.knownFrom ?? 0)
  }

  /** Its record was made and nothing but retention touched it since. */
  get isOnlyCreated(): boolean {
    return this.revision - this.archivings === 1
  }

  /** Every id up to it is appended without an event (KS-36). */
  get silentTo(): number {
    return this.image?.silentTo ?? 0
  }

  /** What a cap or a first contact silenced was not announced yet, as its walk is still open (KS-34, KS-94). */
  get isCountOwed(): boolean {
    return this.image !== undefined && owesAnnouncement(this.image)
  }

  /** Forgets everything that is the journal's to say. */
  forget(): void {
    this.image = undefined
    this.revision = 0
    this.archivings = 0
    this.index = new MessageIndex()
    this.alerts.clear()
  }

  /** Takes over a record of this persona that is durable. */
  apply({ item_type, item_id, payload, action }: Draft, atMs: number): void {
    if (action === 'delete' || payload === undefined) return
    if (item_type === 'persona') {
      this.image = parsePersona(payload)
      this.revision++
    } else if (item_type === 'alert') {
      const parsed = parseAlertId(item_id)
      if (parsed !== undefined) this.alerts.set(parsed.kind, payload)
    } else if (item_type === 'message') {
      const id = idOfMessage(item_id)?.id
      if (id !== undefined) {
        this.index.put(id, { isRead: payload['read'] === true, body: bodyMark(payload), sinceMs: atMs })
      }
    }
  }

  /** Takes the persona's own record and its alarms from the journal. */
  readRecords(view: StoredState): void {
    this.revision = view.revisionOf('persona', this.name) ?? 0
    const entity = view.get('persona', this.name)
    this.image = entity === undefined ? undefined : parsePersona(entity.payload)
  }
}

/** `<persona>/<id>`; a persona may hold a slash, an id cannot. */
export function idOfMessage(itemId: string): { readonly persona: string; readonly id: number } | undefined {
  const at = itemId.lastIndexOf('/')
  const id = Number(itemId.slice(at + 1))
  return at > 0 && Number.isSafeInteger(id) && id >= 0 ? { persona: itemId.slice(0, at), id } : undefined
}

/** The number of a stored body; none where it is not whole. */
export function bodyMark(payload: JsonObject | undefined): number {
  if (!isJsonObject(payload) || payload['clipped'] === true) return NO_BODY
  const content = payload['content']
  return typeof content === 'string' ? bodyHash(content) : NO_BODY
}
