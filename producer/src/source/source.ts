/** A Kijito server as the producer sees it: what can be asked, and what an answer is. */
/** Which of the two deployments answers; configured, never sniffed. */
export type Dialect = 'local' | 'hosted'

/** Why a request brought nothing. `reason` begins with its token (KS-17). */
export interface RequestFailure {
  readonly token: 'redirect' | `http ${number}` | 'unreachable' | 'parse-fail' | 'shape-invalid'
  readonly status: number | undefined
  readonly reason: string
}

/** How a request ended. Times are those of the monotonic clock. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T; readonly sentMs: number; readonly receivedMs: number }
  | {
      readonly ok: false
      readonly failure: RequestFailure
      readonly sentMs: number
      readonly receivedMs: number
    }

/** One message as a server shows it, members judged as KS-19 says. */
export interface Row {
  readonly id: number
  readonly from: string | null
  readonly content: string
  readonly created: string | null
  readonly read: boolean
}

/** What a page says is older than its rows. */
export type Continuation =
  | { readonly kind: 'end' }
  | { readonly kind: 'more'; readonly beforeId: number }
  | { readonly kind: 'unreadable' }

/** One page of an inbox. On the local dialect nothing is ever withheld and the continuation is `end`. */
export interface Page {
  /** Ascending by id. */
  readonly rows: readonly Row[]
  /** Rows withheld (KS-20); 0 if none. */
  readonly omitted: number
  readonly isExact: boolean
  readonly continuation: Continuation
  /** It says that something is withheld and that nothing is older, or the reverse (last row of KS-20). */
  readonly isContradictory: boolean
  /** True where the server clipped the body of the only row (`size_truncated` without a dropped row). */
  readonly isClipped: boolean
  /** A non-negative integer, or undefined where the page makes no statement. */
  readonly unreadNotShown: number | undefined
}

/** One persona as the directory lists it (KS-11). */
export interface DirectoryEntry {
  readonly persona: string
  readonly memoryCount: number | undefined
  /** `mail_total − unread`; undefined where it is unknown. */
  readonly readCount: number | undefined
  readonly isRetired: boolean
  readonly isWriteOnly: boolean
}

/** The usable rows of a directory, in the order they came, names exact and unique. */
export interface PersonaDirectory {
  readonly entries: readonly DirectoryEntry[]
  /** Names that were not usable, for one log line each; safe to print. */
  readonly refused: readonly string[]
}

/** What a valid answer of `notify/pending` says (KS-13, KS-14). */
export interface UnreadCounts {
  readonly byPersona: ReadonlyMap<string, PersonaCount>
  /** The token to send next; undefined where the answer held none. */
  readonly cursor: string | undefined
  readonly refused: readonly string[]
}

export interface PersonaCount {
  readonly unread: number
  /** Undefined where the row makes no statement. */
  readonly unreadUrgent: number | undefined
}

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
