import { actionClasses, alertKinds, type Effect, type ReadRecord } from '@kim/manifest'
import type { Missing } from '../damage.js'
import { unknownAlertKind, unknownPersona, unknownType } from '../not-found.js'
import type { AskedNames } from './path.js'
import type { PredicateScope } from './predicate-scope.js'

const TYPES: ReadonlySet<string> = new Set([
  ...Object.keys(actionClasses.item_types),
  ...Object.keys(actionClasses.item_type_aliases),
])

/** What an expression asks about and the journal has not shown so far. A type or a kind that is always known is shown. */
export class UnknownNames {
  readonly #personas: Set<string>
  readonly #types: Set<string>
  readonly #alertKinds: Set<string>
  /** The types of entities that the journal held at some time, while a type is asked about that is not known. */
  readonly #held = new Set<string>()

  constructor(asked: Readonly<AskedNames>) {
    this.#personas = new Set(asked.personas)
    this.#types = new Set([...asked.types].filter(type => !TYPES.has(type)))
    this.#alertKinds = new Set([...asked.alertKinds].filter(kind => !alertKinds.has(kind)))
  }

  /** Looks at a state that was not read record by record. */
  begin(scope: PredicateScope): void {
    this.look(scope)
    for (const { item_type, item_id } of scope.entities.images()) this.#entity(item_type, item_id)
  }

  /** Looks at a record that had its effect. */
  record({ item_type, item_id = '' }: ReadRecord, effect: Effect): void {
    if (this.#types.size + this.#alertKinds.size === 0) return
    if (effect === 'upsert') this.#entity(item_type, item_id)
    else this.#item(item_type, item_id)
  }

  /** Looks at whom the state knows by now. */
  look({ ledger }: PredicateScope): void {
    for (const name of this.#personas) if (ledger.get(name) !== undefined) this.#personas.delete(name)
  }

  /** Throws where the journal knows nothing of what was asked about: the question was not what was meant, or it lacks that. */
  refuse({ ledger }: PredicateScope, missing: Missing): void {
    for (const name of this.#personas) throw unknownPersona(name, ledger.everybody, missing)
    for (const type of this.#types) throw unknownType(type, this.#held, TYPES, missing)
    for (const kind of this.#alertKinds) throw unknownAlertKind(kind, alertKinds.keys(), missing)
  }

  #entity(type: string, id: string): void {
    this.#held.add(type)
    this.#item(type, id)
  }

  #item(type: string, id: string): void {
    this.#types.delete(type)
    if (type === 'alert') this.#alertKinds.delete(id.slice(id.lastIndexOf('/') + 1))
  }
}
