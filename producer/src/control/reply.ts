import type { JsonObject } from '@kim/manifest'

/** Why a request was not done; stable. */
export type ControlErrorCode =
  | 'bad_request'
  | 'unknown_verb'
  | 'not_permitted'
  | 'too_large'
  | 'busy'
  | 'stopping'
  | 'store_full'
  | 'failed'

/** The answer to one request. */
export type Reply =
  | {
      readonly id: string
      readonly ok: true
      /** The last seq that is durable because of, or at the time of, this reply. */
      readonly seq: number
      readonly result?: JsonObject
    }
  | {
      /** Null if the request had none that could be read. */
      readonly id: string | null
      readonly ok: false
      readonly error: { readonly code: ControlErrorCode; readonly message: string }
    }

/** A reply that says no. */
export function refusal(id: string | null, code: ControlErrorCode, message: string): Reply {
  return { id, ok: false, error: { code, message } }
}

/** One reply as its line. */
export function encodeReply(reply: Reply): string {
  return `${JSON.stringify(reply)}\n`
}
