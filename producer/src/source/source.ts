/** A Kijito server as the producer sees it: what can be asked, what an answer is, and what to do about a failure. */
import { HOSTED } from './address.js'

/** Which of the two deployments answers; configured, never sniffed. */
export type Dialect = 'local' | 'hosted'

/** Why a request brought nothing. `reason` begins with its token (KS-17). */
export interface RequestFailure {
  readonly token: 'redirect' | `http ${number}` | 'unreachable' | 'parse-fail' | 'shape-invalid'
  readonly status: number | undefined
  readonly reason: string
}

/** What the judge of a body says: the value, or why there is none. */
export type BodyResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: RequestFailure }

/** How a request ended. Times are those of the monotonic clock. */
export type Answer<T> = BodyResult<T> & { readonly sentMs: number; readonly receivedMs: number }

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

/** What a failure is about: which server, and whose token it was shown. */
export type FailedServer = Pick<Source, 'base' | 'tokenFrom'>

/** By the pattern of a reason; the first one that fits counts. */
const REMEDIES: Readonly<Record<string, (asked: FailedServer) => string>> = {
  '^http 401': tokenRemedy,
  '^http 403': ({ base }) =>
    `${base} refuses this client: check --url, and --auth-header if the server needs one`,
  '^http 404': ({ base }) =>
    `${base} answers 404, not found: check the name of the persona; if every inbox fails, check --url`,
  '^redirect': ({ base }) => `${base} redirects: set --url to the address that it redirects to`,
  '^unreachable: (the producer cancelled|no complete answer|the server sent no data)': ({ base }) =>
    `${base} takes too long: check --url; if it is right, ${serverRemedy(base)}`,
  '^unreachable: .*, a loopback address': () => 'if you trust this address, add --allow-loopback',
  '^unreachable: .*, a private address': () => 'if you trust this address, add --allow-private',
  '^unreachable: .*, an address no server can have': () => 'use another URL: --url URL',
  '^unreachable: .*\\((?!ERR_SSL).*(CERT|CRL_|LEAF_SIGNATURE|HOSTNAME_MISMATCH)': ({ base }) =>
    `the certificate of ${base} is not valid for this machine: check --url, the clock and the certificate`,
  '^unreachable: .*(EPROTO|_SSL_|_TLS_|not HTTP)': ({ base }) =>
    `the server at ${base} does not use ${base.split(':')[0]}: check http or https and the port in --url`,
  '^unreachable: (name not resolved|no route to)': ({ base }) =>
    `this machine cannot reach ${base}: check its network, or --url`,
  '^unreachable': ({ base }) =>
    base === HOSTED
      ? 'check the network of this machine, and --url'
      : `start Kijito at ${base}, or check --url`,
  '^(shape-invalid|parse-fail)(?!: (more than|too many))': ({ base }) =>
    `${base} answers, but not like Kijito: check --url and --dialect; if they are right, ${serverRemedy(base)}`,
  '^id-regressed': () =>
    'correct --url if it leads to another server. If this one was reset or restored, its mail up to that number never comes in here: start with a new store, --store DIR; there, mail that waits is recorded but not announced',
}

/** What a person can do about a failure, by its reason (KS-17); undefined where that is the server's own matter. */
export function remedyOf(reason: string, asked: FailedServer): string | undefined {
  return Object.entries(REMEDIES).find(([pattern]) => new RegExp(pattern).test(reason))?.[1](asked)
}

/** The same for a failure that is the server's own matter. */
export function serverRemedy(base: string): string {
  return base === HOSTED
    ? 'the hosted Kijito has a problem; a running producer retries by itself, and no mail is lost'
    : 'read the log of the server'
}

/** What to do without a token. */
export const NEEDS_TOKEN =
  'add --token-file F (a service needs the file); without a service, you can set KIM_TOKEN'

/** The token itself is never said, only where it came from. */
function tokenRemedy({ tokenFrom }: FailedServer): string {
  if (tokenFrom === undefined) return `the server needs a token: ${NEEDS_TOKEN}`
  return tokenFrom.startsWith('$')
    ? `set ${tokenFrom} to a token that the server accepts, and start again`
    : `write a token that the server accepts into ${tokenFrom}; if the producer has ended, start it again`
}
