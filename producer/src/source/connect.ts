import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Address } from './destination.js'

/** Where a connection goes: a host by name, and the judged addresses that it may be made to. */
export interface Target {
  readonly isSecure: boolean
  readonly host: string
  readonly port: number
  readonly addresses: readonly Address[]
}

/** Opens a connection. It is returned at once and says later that it failed. */
export type Connect = (target: Target) => Socket

/** In place of the resolver: hands over what was judged, so that no second look-up can say something else. */
function pinnedTo(addresses: readonly Address[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses
    if (first === undefined) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '')
    else if (options.all === true) callback(null, [...addresses])
    else callback(null, first.address, first.family)
  }
}

/** The network's own connections; certificates are checked against the host, by `authorities` if they are given. */
export function connectTo({ isSecure, host, port, addresses }: Target, authorities?: string): Socket {
  const way = { host, port, lookup: pinnedTo(addresses), autoSelectFamily: true, noDelay: true }
  if (!isSecure) return connectTcp(way)
  const servername = isIP(host) === 0 ? host : ''
  const trust = authorities === undefined ? {} : { ca: authorities }
  return connectTls({ ...way, ...trust, servername, ALPNProtocols: ['http/1.1'] })
}
