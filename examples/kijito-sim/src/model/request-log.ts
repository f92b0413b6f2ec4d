import { type Endpoint, endpointOf, type SimRequest } from './request.js'
import { type Match, matches } from './rule.js'

/** One request that came in, and how it ended. */
export interface RequestLogEntry {
  /** From 1, over all requests. */
  readonly n: number
  readonly endpoint: Endpoint
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  /** Requests its connection had served before. */
  readonly served: number
  readonly atMs: number
  /** When its answer was decided; undefined while it is held. */
  endedMs: number | undefined
  /** The status of the answer; undefined while it is held, or where the client went away. */
  status: number | undefined
  wentAway: boolean
}

/** How many entries are kept; the counts go on. */
const KEPT = 20_000

/** What was asked, in order. */
export class RequestLog {
  #entries: RequestLogEntry[] = []
  #count = 0

  add(request: SimRequest, atMs: number): RequestLogEntry {
    const { method, path, query, headers, served = 0 } = request
    const entry: RequestLogEntry = {
      n: ++this.#count,
      endpoint: endpointOf(path),
      method,
      path,
      query,
      headers,
      served,
      atMs,
      endedMs: undefined,
      status: undefined,
      wentAway: false,
    }
    this.#entries.push(entry)
    if (this.#entries.length > 2 * KEPT) this.#entries = this.#entries.slice(-KEPT)
    return entry
  }

  /** The entries a match is about, from the nth request on. */
  find(match: Match = {}, since = 1): RequestLogEntry[] {
    return this.#entries.filter(entry => entry.n >= since && matches(match, entry))
  }

  get count(): number {
    return this.#count
  }
}
