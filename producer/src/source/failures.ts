import type { RequestFailure } from './answer.js'

/** What the judge of a body says: the value, or why there is none. */
export type BodyResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: RequestFailure }

function failureOf(token: RequestFailure['token'], detail: string, status?: number): RequestFailure {
  return { token, status, reason: detail === '' ? token : `${token}: ${detail}` }
}

/** No answer came, or not a whole one. */
export function unreachable(detail: string): RequestFailure {
  return failureOf('unreachable', detail)
}

/** An answer with a status other than 2xx. */
export function badStatus(status: number): RequestFailure {
  const isRedirect = status >= 300 && status < 400
  return isRedirect
    ? failureOf('redirect', `answered ${status}, which is never followed`, status)
    : failureOf(`http ${status}`, '', status)
}

/** The body is not one JSON text we take. */
export function parseFail(detail: string): RequestFailure {
  return failureOf('parse-fail', detail)
}

/** The body is JSON, but not what the endpoint promises. */
export function shapeInvalid(detail: string): RequestFailure {
  return failureOf('shape-invalid', detail)
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed before the answer was complete',
  EPIPE: 'connection closed before the answer was complete',
  ETIMEDOUT: 'connecting took too long',
  EHOSTUNREACH: 'no way to the host',
  ENETUNREACH: 'no way to the network',
  ENOTFOUND: 'name not resolved',
  EAI_AGAIN: 'name not resolved',
  ENODATA: 'name not resolved',
}

/**
 * What an error of the transport comes to. Only its code is used: a message can quote what a server sent, or what we
 * sent it.
 */
export function transportFailure(error: unknown): RequestFailure {
  const code = (error as NodeJS.ErrnoException | null | undefined)?.code
  if (typeof code !== 'string' || !/^\w{1,60}$/.test(code)) return unreachable('the exchange broke off')
  const words = WORDS[code] ?? (code.startsWith('HPE_') ? 'what came is not HTTP' : 'the exchange broke off')
  return unreachable(`${words} (${code})`)
}
