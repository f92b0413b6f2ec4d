import { HOSTED } from './address.js'
import type { Source } from './source.js'

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
