/** A question that the state answers with yes or no. It can read the state and nothing else. */
import { type AskedNames, type Kind, pathOf } from './path.js'
import type { PredicateScope, Value } from './predicate-scope.js'
import { expressionError, type Operator, type Token, tokensOf } from './token.js'

/** A question, ready to be asked after each record. */
export interface Predicate {
  readonly holds: (world: PredicateScope) => boolean
  /** Whom and what it asks about. */
  readonly asked: Readonly<AskedNames>
}

type Test = (world: PredicateScope) => boolean
type Operand = {
  readonly get: (world: PredicateScope) => Value
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
      left = world => a(world) || b(world)
    }
    return left
  }

  #and(): Test {
    let left = this.#not()
    while (this.#took('and')) {
      const [a, b] = [left, this.#not()]
      left = world => a(world) && b(world)
    }
    return left
  }

  #not(): Test {
    const { at } = this.#peek()
    if (this.#took('not')) {
      const inner = this.#deeper(at, () => this.#not())
      return world => !inner(world)
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
      return world => compare(left.get(world), right.get(world))
    }
    if (left.kind !== 'truth' && left.kind !== 'any')
      throw expressionError(
        left.at,
        `${left.isPath ? NOUNS[left.kind] : 'a value'} alone is not a condition`,
        'compare it: persona.river.unread > 10',
      )
    return world => left.get(world) === true
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

/** A comparison with a path that comes out the same whatever the journal holds is a mistake of whoever wrote it. */
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
