import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { KimError } from '@kim/manifest'
import { classOfAddress } from './address.js'
import type { BaseUrl } from './base-url.js'

/** One address of a host. */
export interface Address {
  readonly address: string
  readonly family: number
}

/** Says which addresses a name has. */
export type Resolve = (host: string) => Promise<readonly Address[]>

/** The system's resolver. */
export const systemResolve: Resolve = host => lookup(host, { all: true })

/** Which addresses the operator lets us talk to besides public ones. */
export interface Permit {
  readonly loopback: boolean
  readonly private: boolean
}

function refusal({ base, isLocalDaemon }: BaseUrl, address: string, permit: Permit): KimError | undefined {
  const is = classOfAddress(address)
  if (is === 'public') return undefined
  if (is === 'loopback' && (permit.loopback || isLocalDaemon)) return undefined
  if (is === 'private' && permit.private) return undefined
  const what = is === 'never' ? 'an address no server can have' : `a ${is} address`
  const hint = is === 'never' ? 'use another URL: --url URL' : `if you trust this address, add --allow-${is}`
  return new KimError('config_invalid', `${base} leads to ${address}, ${what}`, { hint })
}

/**
 * The addresses connections go to. A name is resolved when it is first needed and again after a failed connection;
 * every address must be permitted, so that a name cannot lead half of the connections somewhere else (KS-81, KS-82).
 */
export class Destination {
  readonly #url: BaseUrl
  readonly #permit: Permit
  readonly #resolve: Resolve
  #pinned: readonly Address[] = []
  #isStale = true
  #pending: Promise<readonly Address[]> | undefined

  constructor(url: BaseUrl, permit: Permit, resolve: Resolve) {
    this.#url = url
    this.#permit = permit
    this.#resolve = resolve
  }

  /** What was judged last: where a connection may be made to now. */
  get pinned(): readonly Address[] {
    return this.#pinned
  }

  /** Rejects with the `KimError` of a refusal, or with whatever the resolver said. */
  addresses(): Promise<readonly Address[]> {
    if (!this.#isStale) return Promise.resolve(this.#pinned)
    this.#pending ??= this.#judged().finally(() => {
      this.#pending = undefined
    })
    return this.#pending
  }

  /** The addresses did not do: the next request has them looked up again. */
  forget(): void {
    this.#isStale = true
  }

  async #judged(): Promise<readonly Address[]> {
    const { host } = this.#url
    const literal = isIP(host)
    const found = literal === 0 ? await this.#resolve(host) : [{ address: host, family: literal }]
    for (const { address } of found) {
      const refused = refusal(this.#url, address, this.#permit)
      if (refused !== undefined) throw refused
    }
    this.#pinned = found
    this.#isStale = found.length === 0
    return found
  }
}
