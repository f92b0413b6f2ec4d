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
/** The signs, the longer ones first; those that are another spelling of an operator are below. */
const SIGN = /&&|\|\||==|!=|<=|>=|[=<>!()]/y
const SPELLINGS: Readonly<Record<string, Operator>> = { '&&': 'and', '||': 'or', '==': '=', '!': 'not' }
const WORDS: ReadonlySet<string> = new Set(['and', 'or', 'not'])
const CONSTANTS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null }
const NAME_START = /^[A-Za-z_]$/
const NAME_PART = /^[A-Za-z0-9_-]$/
const NUMBER_START = /^-?\d/

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
    if (NAME_START.test(char)) return this.#word(at)
    if (char === '"' || char === "'") return { kind: 'literal', value: this.#quoted(), at }
    if (NUMBER_START.test(this.#text.slice(at, at + 2))) return this.#number(at)
    SIGN.lastIndex = at
    const sign = SIGN.exec(this.#text)?.[0]
    if (sign === undefined) throw expressionError(at, `unexpected ${shown(this.#text.codePointAt(at) ?? 0)}`)
    this.#at += sign.length
    return { kind: 'operator', text: SPELLINGS[sign] ?? (sign as Operator), at }
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
      const word = first.toLowerCase()
      if (WORDS.has(word)) return { kind: 'operator', text: word as Operator, at }
      if (Object.hasOwn(CONSTANTS, first)) return { kind: 'literal', value: CONSTANTS[first] ?? null, at }
    }
    return { kind: 'path', names, starts, at }
  }

  #name(): string {
    const from = this.#at
    while (NAME_PART.test(this.#char())) this.#at += 1
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
    if (NAME_PART.test(this.#char()) || this.#char() === '.')
      throw expressionError(at, 'this is not a number', 'put texts in quotes')
    return { kind: 'literal', value: Number(text), at }
  }
}

function shown(point: number): string {
  return point < 0x20 || point > 0x7e
    ? `U+${point.toString(16).toUpperCase().padStart(4, '0')}`
    : `"${String.fromCodePoint(point)}"`
}
