/** A condition over the state, as `find` takes it: its parser, and the paths that it can ask for. It can read the state and nothing else. */
import { didYouMean } from '@kim/cli-kit'
import type { Entity, EntityTable, JsonObject } from '@kim/manifest'
import type { Payloads } from '../payloads.js'
import type { PersonaLedger } from '../personas.js'
import { expressionError, type Operator, type Token, tokensOf } from './token.js'

/** The state, and how far the reading is. */
export interface PredicateScope {
  readonly entities: EntityTable<Entity>
  readonly ledger: PersonaLedger
  readonly payloads: Payloads
  readonly registryAuthoritative: boolean
  readonly damage: number
  /** The last record. */
  readonly seq: number | null
  readonly ts: string | null
}

/** The value of a path or a literal; an object or a list is no value that can be compared. */
type Value = string | number | boolean | null

type Lookup = (scope: PredicateScope) => Value

/** What a value is if it is not null; a payload may contain anything. */
type Kind = 'number' | 'text' | 'truth' | 'any'

/** The names that an expression asks about: one that the journal never knew is an error, not false. */
export interface AskedNames {
  readonly personas: Set<string>
  readonly types: Set<string>
  readonly alertKinds: Set<string>
}

/** A condition, ready to be asked for after each record. */
export interface Predicate {
  readonly holds: (scope: PredicateScope) => boolean
  readonly asked: Readonly<AskedNames>
}

type Test = (scope: PredicateScope) => boolean
type Operand = {
  readonly get: Lookup
  readonly isPath: boolean
  readonly kind: Kind | 'null'
  readonly at: number
}

const LEVELS_MAX = 64

/** Reads an expression. Throws a usage error that names the column. */
export function parsePredicate(text: string): Predicate {
  const parser = new Parser(tokensOf(text))
  return { holds: parser.whole(), asked: parser.asked }
}

class Parser {
  readonly asked: AskedNames = { personas: new Set(), types: new Set(), alertKinds: new Set() }
  readonly #tokens: readonly Token[]
  #next = 0
  #level = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  whole(): Test {
    const test = this.#or()
    const rest = this.#peek()
    if (rest.kind !== 'end')
      throw expressionError(
        rest.at,
        'unexpected text after the condition',
        'combine conditions with and, or, not',
      )
    return test
  }

  #or(): Test {
    let left = this.#and()
    while (this.#took('or')) {
      const [a, b] = [left, this.#and()]
      left = scope => a(scope) || b(scope)
    }
    return left
  }

  #and(): Test {
    let left = this.#not()
    while (this.#took('and')) {
      const [a, b] = [left, this.#not()]
      left = scope => a(scope) && b(scope)
    }
    return left
  }

  #not(): Test {
    const { at } = this.#peek()
    if (this.#took('not')) {
      const inner = this.#deeper(at, () => this.#not())
      return scope => !inner(scope)
    }
    if (!this.#took('(')) return this.#comparison()
    const inner = this.#deeper(at, () => this.#or())
    if (!this.#took(')')) throw expressionError(at, 'this ( is never closed')
    return inner
  }

  #deeper(at: number, read: () => Test): Test {
    this.#level += 1
    if (this.#level > LEVELS_MAX) throw expressionError(at, `more than ${LEVELS_MAX} levels`)
    const test = read()
    this.#level -= 1
    return test
  }

  #comparison(): Test {
    const left = this.#operand()
    const sign = this.#peek()
    if (sign.kind === 'operator' && Object.hasOwn(COMPARE, sign.text)) {
      this.#next += 1
      const compare = COMPARE[sign.text as Comparison]
      const right = this.#operand()
      refuseVain(left, sign.text as Comparison, right)
      return scope => compare(left.get(scope), right.get(scope))
    }
    if (left.kind !== 'truth' && left.kind !== 'any')
      throw expressionError(
        left.at,
        `${left.isPath ? NOUNS[left.kind] : 'a value'} alone is not a condition`,
        'compare it: persona.river.unread > 10',
      )
    return scope => left.get(scope) === true
  }

  #operand(): Operand {
    const token = this.#peek()
    this.#next += 1
    if (token.kind === 'literal')
      return { get: () => token.value, isPath: false, kind: kindOf(token.value), at: token.at }
    if (token.kind === 'path') return { ...pathOf(token, this.asked), isPath: true, at: token.at }
    throw expressionError(
      token.at,
      token.kind === 'end' ? 'a value is missing at the end' : `expected a value, found "${token.text}"`,
    )
  }

  #took(operator: Operator): boolean {
    const token = this.#peek()
    if (token.kind !== 'operator' || token.text !== operator) return false
    this.#next += 1
    return true
  }

  #peek(): Token {
    return this.#tokens[Math.min(this.#next, this.#tokens.length - 1)] as Token
  }
}

const NOUNS: Readonly<Record<Kind | 'null', string>> = {
  number: 'a number',
  text: 'a text',
  truth: 'true or false',
  null: 'null',
  any: 'a value',
}

function kindOf(value: Value): Kind | 'null' {
  if (value === null) return 'null'
  return typeof value === 'number' ? 'number' : typeof value === 'string' ? 'text' : 'truth'
}

/** A comparison with a path that has the same result for any journal is a mistake in the expression. */
function refuseVain(left: Operand, sign: Comparison, right: Operand): void {
  if (!left.isPath && !right.isPath) return
  const isOrder = sign !== '=' && sign !== '!='
  const known = [left, right].filter(({ kind }) => kind !== 'any')
  const unordered = known.find(({ kind }) => kind === 'truth' || kind === 'null')
  if (isOrder && unordered !== undefined)
    throw expressionError(unordered.at, `${NOUNS[unordered.kind]} has no order`, 'compare it with = or !=')
  const [one, other] = known
  if (one === undefined || other === undefined || one.kind === other.kind) return
  if (one.kind === 'null' || other.kind === 'null') return
  throw expressionError(
    right.at,
    `cannot compare ${NOUNS[left.kind]} with ${NOUNS[right.kind]}`,
    'put texts in quotes, and numbers without',
  )
}

type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>='

const COMPARE: Readonly<Record<Comparison, (a: Value, b: Value) => boolean>> = {
  '=': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => orderOf(a, b) < 0,
  '<=': (a, b) => orderOf(a, b) <= 0,
  '>': (a, b) => orderOf(a, b) > 0,
  '>=': (a, b) => orderOf(a, b) >= 0,
}

/** Only numbers and numbers, or texts and texts, have an order; NaN is in none. */
function orderOf(a: Value, b: Value): number {
  const isNumbers = typeof a === 'number' && typeof b === 'number'
  const isTexts = typeof a === 'string' && typeof b === 'string'
  if (!isNumbers && !isTexts) return Number.NaN
  return a < b ? -1 : a > b ? 1 : 0
}

type PathToken = Extract<Token, { kind: 'path' }>

const PLAIN: Readonly<Record<string, Lookup>> = {
  seq: ({ seq }) => seq,
  ts: ({ ts }) => ts,
  entities: ({ entities }) => entities.size,
  attention_required: ({ ledger }) => ledger.attention,
  registry_authoritative: ({ registryAuthoritative }) => registryAuthoritative,
  damage: ({ damage }) => damage,
}

const PERSONA: Readonly<Record<string, (scope: PredicateScope, name: string) => Value>> = {
  known: ({ ledger }, name) => ledger.get(name) !== undefined,
  unread: ({ ledger }, name) => ledger.get(name)?.unread ?? null,
  messages: ({ ledger }, name) => ledger.get(name)?.messages ?? null,
  newest: ({ ledger }, name) => ledger.get(name)?.ids.highest ?? null,
  alerts: ({ ledger }, name) => ledger.get(name)?.openAlerts ?? null,
  attention: ({ ledger }, name) => ledger.get(name)?.attention ?? null,
  unread_urgent: ({ ledger }, name) => ledger.unreadUrgent(name),
  state: ({ ledger }, name) => ledger.state(name),
}

const ALERT: Readonly<Record<string, (payload: JsonObject | undefined) => Value>> = {
  open: payload => valueIn(payload, ['status']) === 'open',
  status: payload => valueIn(payload, ['status']),
  reason: payload => valueIn(payload, ['reason']),
}

type Payload = () => JsonObject | undefined

const ENTITY: Readonly<
  Record<string, (entity: Entity | undefined, payload: Payload, rest: readonly string[]) => Value>
> = {
  exists: entity => entity !== undefined,
  seq: entity => entity?.seq ?? null,
  ts: entity => entity?.ts ?? null,
  agent: entity => entity?.agent ?? null,
  entity_rev: entity => entity?.entity_rev ?? null,
  payload: (_, payload, rest) => valueIn(payload(), rest),
}

const TEXTS: ReadonlySet<string> = new Set(['ts', 'agent', 'state', 'status', 'reason'])
const TRUTHS: ReadonlySet<string> = new Set(['registry_authoritative', 'known', 'open', 'exists'])

/** By the last name of the path, which means the same in each path. */
function kindOfField(field: string): Kind {
  if (field === 'payload') return 'any'
  return TEXTS.has(field) ? 'text' : TRUTHS.has(field) ? 'truth' : 'number'
}

const ROOTS = [...Object.keys(PLAIN), 'count', 'persona', 'alert', 'entity']
/** The form of each path, by its first name. */
export const pathForms: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.keys(PLAIN).map(name => [name, name])),
  count: 'count.TYPE',
  persona: `persona.NAME.{${Object.keys(PERSONA).join(',')}}`,
  alert: `alert.NAME.KIND.{${Object.keys(ALERT).join(',')}}`,
  entity: `entity.TYPE.ID.{${Object.keys(ENTITY).join(',')}}`,
}

/** Parses a path, checked at once, so that a misspelt one is never simply false. `asked` collects what it asks about. */
function pathOf(token: PathToken, asked: AskedNames): { readonly get: Lookup; readonly kind: Kind } {
  const { names } = token
  const [root = '', ...rest] = names
  const plain = member(PLAIN, root)
  if (plain !== undefined) {
    if (rest.length > 0) throw expressionError(token.starts[1] ?? 0, `${root} has no parts`)
    return { get: plain, kind: kindOfField(root) }
  }
  switch (root) {
    case 'count': {
      const [, type = ''] = exactly(token, 2)
      asked.types.add(type)
      return { get: ({ entities }) => entities.countOf(type), kind: 'number' }
    }
    case 'persona': {
      const [, name = '', field = ''] = exactly(token, 3)
      const get = known(PERSONA, field, token, 2)
      asked.personas.add(name)
      return { get: scope => get(scope, name), kind: kindOfField(field) }
    }
    case 'alert': {
      const [, name = '', kind = '', field = ''] = exactly(token, 4)
      const get = known(ALERT, field, token, 3)
      asked.personas.add(name)
      asked.alertKinds.add(kind)
      const id = `${name}/${kind}`
      return {
        get: scope => get(payloadIn(scope, scope.entities.get('alert', id))),
        kind: kindOfField(field),
      }
    }
    case 'entity': {
      const [, type = '', id = '', field = '', ...inner] = names
      if (names.length < 4) throw expressionError(token.at, 'the path is too short', pathForms[root])
      const get = known(ENTITY, field, token, 3)
      if (field !== 'payload' && inner.length > 0)
        throw expressionError(token.starts[4] ?? 0, `${field} has no parts`)
      if (field === 'payload' && inner.length === 0)
        throw expressionError(
          token.at,
          'a field of the payload is missing',
          'such as entity.message."river/246".payload.from',
        )
      asked.types.add(type)
      const lookup: Lookup = scope => {
        const entity = scope.entities.get(type, id)
        return get(entity, () => payloadIn(scope, entity), inner)
      }
      return { get: lookup, kind: kindOfField(field) }
    }
  }
  throw expressionError(
    token.at,
    `there is no path "${root.slice(0, 40)}"${didYouMean(root, ROOTS)}`,
    `paths begin with ${ROOTS.join(', ')}`,
  )
}

/** The value at a path of a payload. */
function valueIn(payload: JsonObject | undefined, path: readonly string[]): Value {
  let value: unknown = payload
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null
    value = (value as Record<string, unknown>)[name]
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
}

function payloadIn({ payloads }: PredicateScope, entity: Entity | undefined): JsonObject | undefined {
  return entity === undefined ? undefined : payloads.of(entity)
}

function exactly({ names, at }: PathToken, length: number): readonly string[] {
  const form = pathForms[names[0] ?? ''] ?? ''
  if (names.length < length) throw expressionError(at, 'the path is too short', form)
  if (names.length > length)
    throw expressionError(at, 'the path is too long', `${form}; put a name that holds dots in double quotes`)
  return names
}

function member<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

function known<T>(
  table: Readonly<Record<string, T>>,
  name: string,
  { starts, names }: PathToken,
  at: number,
): T {
  const found = member(table, name)
  if (found !== undefined) return found
  const fields = Object.keys(table)
  throw expressionError(
    starts[at] ?? 0,
    `${names[0]} has no "${name.slice(0, 40)}"${didYouMean(name, fields)}`,
    `it has ${fields.join(', ')}`,
  )
}
