import type { Answer, Dialect, Page, PersonaDirectory, UnreadCounts } from './answer.js'

/** Which page of an inbox is asked for. */
export interface PageQuery {
  readonly persona: string
  /** Rows below this id; the newest page without it. */
  readonly beforeId?: number | undefined
  readonly unreadOnly?: boolean | undefined
}

/** How long the counts may be held, and the last token. */
export interface CountsQuery {
  readonly waitSeconds: number
  readonly cursor?: string | undefined
}

/**
 * A Kijito server as the producer sees it. A request never rejects: whatever happens to it is an answer, an
 * abort included (`unreachable`).
 */
export interface Source {
  /** The base URL in its canonical form: what a store belongs to. */
  readonly base: string
  readonly dialect: Dialect
  /** Where the token came from, as a person names it: `the file F` or `$NAME`; undefined where there is none. */
  readonly tokenFrom: string | undefined
  page(query: PageQuery, signal: AbortSignal): Promise<Answer<Page>>
  directory(signal: AbortSignal): Promise<Answer<PersonaDirectory>>
  counts(query: CountsQuery, signal: AbortSignal): Promise<Answer<UnreadCounts>>
  /** Reads the token file again; says whether the token changed, and undefined where it was refused, as was said. */
  reloadToken(): boolean | undefined
  /** Ends idle connections. */
  close(): void
}
