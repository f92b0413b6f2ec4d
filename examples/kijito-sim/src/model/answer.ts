/** A body: a value to be sent as JSON, text as it stands, or bytes. */
export type Body = { readonly json: unknown } | { readonly text: string } | { readonly base64: string }

/** How the bytes of an answer travel. */
export type Wire =
  | { readonly kind: 'whole' }
  /** The connection is reset before a byte of an answer. */
  | { readonly kind: 'reset' }
  /** As `reset`, but only on a connection that has served a request before. */
  | { readonly kind: 'reset-reused' }
  /** The connection is closed before a byte of an answer. */
  | { readonly kind: 'close' }
  /** These characters instead of a status line, then the connection is closed. */
  | { readonly kind: 'garbage'; readonly text: string }
  /** So many bytes fewer than the announced length, then the connection is closed. */
  | { readonly kind: 'short'; readonly missing: number }
  /** A chunked body that ends in the middle of a chunk. */
  | { readonly kind: 'broken-chunk' }
  /** So many bytes of the body at a time, so far apart. */
  | { readonly kind: 'drip'; readonly everyMs: number; readonly bytes: number }
  /** The head at once, and of the body nothing, ever. */
  | { readonly kind: 'stall' }
  /** Nothing, ever. */
  | { readonly kind: 'hang' }

/** What a server says, as data. */
export interface SimResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
  readonly wire: Wire
  /** Time the server takes before the first byte. */
  readonly delayMs: number
}

const ERRORS: Readonly<Record<number, string>> = {
  400: 'bad request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not found',
  405: 'method not allowed',
}

/** An answer with a JSON body, delivered as servers do. */
export function jsonAnswer(json: unknown, status = 200): SimResponse {
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: { json },
    wire: { kind: 'whole' },
    delayMs: 0,
  }
}

/** A refusal. The form of its body is not known of the real server, and no client may depend on it. */
export function errorAnswer(status: number): SimResponse {
  return jsonAnswer({ error: ERRORS[status] ?? `status ${status}` }, status)
}

/** The text of a body, for callers without a wire. */
export function bodyText(body: Body): string {
  if ('json' in body) return JSON.stringify(body.json)
  return 'text' in body ? body.text : Buffer.from(body.base64, 'base64').toString('utf8')
}

/** The bytes of a body. */
export function bodyBytes(body: Body): Buffer {
  return 'base64' in body ? Buffer.from(body.base64, 'base64') : Buffer.from(bodyText(body), 'utf8')
}
