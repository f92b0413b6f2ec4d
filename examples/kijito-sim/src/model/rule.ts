import type { Body, Wire } from './answer.js'
import { type Endpoint, endpointOf, type SimRequest } from './request.js'

/** Which requests a rule is about; what is left out matches everything. */
export interface Match {
  readonly endpoint?: Endpoint
  readonly persona?: string
  /** The newest page of an inbox, or any page below an id. */
  readonly page?: 'newest' | 'walk'
  readonly before_id?: number
  readonly unread_only?: boolean
}

/** What is done to an answer. Without a member the server answers as it would; the members add up. */
export interface RuleEffect {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Another body: a value, text as it stands, or bytes. */
  readonly json?: unknown
  readonly text?: string
  readonly base64?: string
  /** Members of the body set, or left out. */
  readonly patch?: Readonly<Record<string, unknown>>
  readonly omit?: readonly string[]
  /** Members of each row set, or left out. */
  readonly patch_rows?: Readonly<Record<string, unknown>>
  readonly omit_rows?: readonly string[]
  readonly distort?: Distortion
  /** Milliseconds before the answer. */
  readonly delay_ms?: number
  /** Milliseconds a long poll is held, new mail or not; 0: not at all. */
  readonly hold_ms?: number
  readonly wire?: Wire
}

/** A page that is wrong in a way that takes the faithful one to make. */
export type Distortion =
  | 'ignore-before-id'
  | 'repeat-row'
  | 'skip-rows'
  | 'empty-page'
  | 'claim-more'
  | 'claim-end'

/** Effects for some requests: the nth request gets the nth effect, the last one goes on. */
export interface Rule {
  /** For taking it back. */
  readonly name?: string
  readonly on: Match
  readonly effect: RuleEffect | readonly RuleEffect[]
  /** Requests let through first. */
  readonly skip?: number
  /** How many requests it is for; without it, all that come. */
  readonly times?: number
}

/** Whether a request is one that a match is about. */
export function matches(match: Match, request: SimRequest): boolean {
  const { query } = request
  if (match.endpoint !== undefined && match.endpoint !== endpointOf(request.path)) return false
  if (match.persona !== undefined && match.persona !== query['persona']) return false
  if (match.page !== undefined && (match.page === 'walk') !== (query['before_id'] !== undefined)) return false
  if (match.before_id !== undefined && String(match.before_id) !== query['before_id']) return false
  return match.unread_only === undefined || match.unread_only === (query['unread_only'] === 'true')
}

/** The rules in force. The newest one that is about a request decides; there may be one that lets it through. */
export class RuleBook {
  #rules: { readonly rule: Rule; seen: number }[] = []

  add(rule: Rule): void {
    this.#rules.unshift({ rule, seen: 0 })
  }

  /** Takes rules back; without a name, all of them. */
  drop(name?: string): number {
    const before = this.#rules.length
    this.#rules = this.#rules.filter(({ rule }) => name !== undefined && rule.name !== name)
    return before - this.#rules.length
  }

  /** The effect on this request. Every rule that matches counts it, whether or not it decides. */
  effectOn(request: SimRequest): RuleEffect | undefined {
    let decided: RuleEffect | undefined
    for (const entry of this.#rules) {
      const { rule } = entry
      if (!matches(rule.on, request)) continue
      const turn = entry.seen++ - (rule.skip ?? 0)
      if (decided !== undefined || turn < 0 || turn >= (rule.times ?? Number.POSITIVE_INFINITY)) continue
      const effects: readonly RuleEffect[] = 'length' in rule.effect ? rule.effect : [rule.effect]
      decided = effects[Math.min(turn, effects.length - 1)]
    }
    return decided
  }
}

/** The body an effect puts in an answer's place, if it does. */
export function effectBody(effect: RuleEffect): Body | undefined {
  if (effect.text !== undefined) return { text: effect.text }
  if (effect.base64 !== undefined) return { base64: effect.base64 }
  return effect.json === undefined ? undefined : { json: effect.json }
}
