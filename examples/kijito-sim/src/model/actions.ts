import { errorAnswer, jsonAnswer, type SimResponse } from './answer.js'
import type { Mail } from './mail.js'

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** Who handles a message, and until when. */
interface Claim {
  readonly persona: string
  readonly untilMs: number
}

/** What consumers, not producers, ask of a server: sending and claiming. */
export class Actions {
  readonly #claims = new Map<number, Claim>()

  send(body: unknown, mail: Mail, now: string): SimResponse {
    if (!isObject(body)) return errorAnswer(400)
    const { to, from, content, urgent } = body
    if (typeof to !== 'string' || typeof from !== 'string' || typeof content !== 'string') {
      return errorAnswer(400)
    }
    const { id } = mail.deliver({ to, from, content, urgent: urgent === true }, now)
    return jsonAnswer({ result: { id, to } })
  }

  claim(body: unknown, nowMs: number): SimResponse {
    if (!isObject(body)) return errorAnswer(400)
    const { message_id: id, persona, lease_seconds: seconds = 60 } = body
    if (typeof id !== 'number' || typeof persona !== 'string' || typeof seconds !== 'number') {
      return errorAnswer(400)
    }
    if (seconds < 10 || seconds > 300) return errorAnswer(400)
    const held = this.#claims.get(id)
    if (held !== undefined && held.persona !== persona && held.untilMs > nowMs) {
      const advisory = { reason: 'held', claimed_by: held.persona, lease_expired: false }
      return jsonAnswer({ claimed: false, message_id: id, advisory })
    }
    this.#claims.set(id, { persona, untilMs: nowMs + seconds * 1000 })
    return jsonAnswer({ claimed: true, message_id: id })
  }

  release(body: unknown): SimResponse {
    if (!isObject(body)) return errorAnswer(400)
    const { message_id: id, persona } = body
    if (typeof id !== 'number' || typeof persona !== 'string') return errorAnswer(400)
    const released = this.#claims.get(id)?.persona === persona && this.#claims.delete(id)
    return jsonAnswer({ released, message_id: id })
  }
}
