/** A request as the model sees it: names of headers in lower case, values of the query decoded. */
export interface SimRequest {
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  /** The parsed body of a POST; undefined where there is none or it is no JSON. */
  readonly body?: unknown
  /** How many requests this connection has served before. */
  readonly served?: number
}

/** What a path is about. */
export type Endpoint = 'inbox' | 'personas' | 'pending' | 'send' | 'claim' | 'release' | 'presence' | 'other'

const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map([
  ['/api/inbox', 'inbox'],
  ['/api/personas', 'personas'],
  ['/api/notify/pending', 'pending'],
  ['/api/send', 'send'],
  ['/api/claim', 'claim'],
  ['/api/release', 'release'],
  ['/api/presence', 'presence'],
])

/** The endpoint a path names. */
export function endpointOf(path: string): Endpoint {
  return ENDPOINTS.get(path) ?? 'other'
}

/** A non-negative integer in a query; undefined where the member is absent, `invalid` where it is anything else. */
export function wholeNumber(text: string | undefined): number | undefined | 'invalid' {
  if (text === undefined) return undefined
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(value) ? value : 'invalid'
}
