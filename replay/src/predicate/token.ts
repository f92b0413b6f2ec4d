/** The words of an expression. Each is found by looking at one character after the other: no input makes this slow. */
import { usageError } from '@kim/cli-kit'

/** One word, and where it begins. */
export type Token =
  | {
      readonly kind: 'path'
      readonly names: readonly string[]
      readonly starts: readonly number[]
      readonly at: number
    }
  | { readonly kind: 'literal'; readonly value: string | number | boolean | null; readonly at: number }
  | { readonly kind: 'operator'; readonly text: Operator; readonly at: number }
  | { readonly kind: 'end'; readonly at: number }

/** A sign or word that combines others. */
export type Operator = '=' | '!=' | '<' | '<=' | '>' | '>=' | 'and' | 'or' | 'not' | '(' | ')'

const CHARS_MAX = 4096
const SIGNS: readonly (readonly [sign: string, operator: Operator])[] = [
  ['&&', 'and'],
  ['||', 'or'],
  ['==', '='],
  ['!=', '!='],
  ['<=', '<='],
  ['>=', '>='],
  ['=', '='],
  ['<', '<'],
  ['>', '>'],
  ['!', 'not'],
  ['(', '('],
  [')', ')'],
]
const WORDS: ReadonlyMap<string, Operator> = new Map([
  ['and', 'and'],
  ['or', 'or'],
  ['not', 'not'],
])
const CONSTANTS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
])

/** An expression cannot be read; says in which column and why. */
export function expressionError(
  at: number,
  what: string,
  hint = 'see the paths and operators: kim-replay find --help',
): Error {
  return usageError(`cannot parse the expression, column ${at + 1}: ${what}`, hint)
}

/** Cuts an expression into its words. */
export function tokensOf(text: string): Token[] {
  if (text.length > CHARS_MAX) throw expressionError(CHARS_MAX, `it is longer than ${CHARS_MAX} characters`)
  const tokens: Token[] = []
  const cutter = new Cutter(text)
  for (;;) {
    const token = cutter.next()
    tokens.push(token)
    if (token.kind === 'end') return tokens
  }
}

class Cutter {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  next(): Token {
    while (' \t\n\r'.includes(this.#char() || 'x')) this.#at += 1
    const at = this.#at
    const char = this.#char()
    if (char === '') return { kind: 'end', at }
    if (isNameStart(char)) return this.#word(at)
    if (char === '"' || char === "'") return { kind: 'literal', value: this.#quoted(), at }
    if (isDigit(char) || (char === '-' && isDigit(this.#text[at + 1] ?? ''))) return this.#number(at)
    for (const [sign, operator] of SIGNS) {
      if (!this.#text.startsWith(sign, at)) continue
      this.#at += sign.length
      return { kind: 'operator', text: operator, at }
    }
    throw expressionError(at, `unexpected ${shown(this.#text.codePointAt(at) ?? 0)}`)
  }

  #char(): string {
    return this.#text[this.#at] ?? ''
  }

  #word(at: number): Token {
    const names = [this.#name()]
    const starts = [at]
    while (this.#char() === '.') {
      this.#at += 1
      starts.push(this.#at)
      names.push(this.#char() === '"' || this.#char() === "'" ? this.#quoted() : this.#name())
    }
    const [first = ''] = names
    if (names.length === 1) {
      const operator = WORDS.get(first.toLowerCase())
      if (operator !== undefined) return { kind: 'operator', text: operator, at }
      const constant = CONSTANTS.get(first)
      if (constant !== undefined) return { kind: 'literal', value: constant, at }
    }
    return { kind: 'path', names, starts, at }
  }

  #name(): string {
    const from = this.#at
    while (isNamePart(this.#char())) this.#at += 1
    if (this.#at === from)
      throw expressionError(
        from,
        'a name is missing after the dot',
        'put a name with other characters in double quotes: entity.message."river/246"',
      )
    return this.#text.slice(from, this.#at)
  }

  #quoted(): string {
    const from = this.#at
    const quote = this.#char()
    let text = ''
    for (this.#at += 1; ; this.#at += 1) {
      const char = this.#char()
      if (char === '') throw expressionError(from, `this ${quote} is never closed`)
      if (char === quote) break
      if (char !== '\\') {
        text += char
        continue
      }
      this.#at += 1
      text += this.#escaped()
    }
    this.#at += 1
    return text
  }

  /** As in JSON, and any quote. */
  #escaped(): string {
    const char = this.#char()
    const short = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '"': '"', "'": "'", '\\': '\\', '/': '/' }
    const plain = Object.hasOwn(short, char) ? short[char as keyof typeof short] : undefined
    if (plain !== undefined) return plain
    const hex = this.#text.slice(this.#at + 1, this.#at + 5)
    if (char !== 'u' || !/^[0-9a-fA-F]{4}$/.test(hex)) throw expressionError(this.#at - 1, 'unknown escape')
    this.#at += 4
    return String.fromCharCode(Number.parseInt(hex, 16))
  }

  #number(at: number): Token {
    const text = /^-?\d{1,20}(\.\d{1,20})?/.exec(this.#text.slice(at, at + 48))?.[0] ?? ''
    this.#at += text.length
    if (isNamePart(this.#char()) || this.#char() === '.')
      throw expressionError(at, 'this is not a number', 'put texts in quotes')
    return { kind: 'literal', value: Number(text), at }
  }
}

function isDigit(char: string): boolean {
  return char >= '0' && char <= '9' && char.length === 1
}

function isNameStart(char: string): boolean {
  return /^[A-Za-z_]$/.test(char)
}

function isNamePart(char: string): boolean {
  return /^[A-Za-z0-9_-]$/.test(char)
}

function shown(point: number): string {
  return point < 0x20 || point > 0x7e
    ? `U+${point.toString(16).toUpperCase().padStart(4, '0')}`
    : `"${String.fromCodePoint(point)}"`
}
