import type { Source } from './source.js'

/** What a failure is about: which server, and whose token it was shown. */
export type Asked = Pick<Source, 'base' | 'tokenFrom'>

const REMEDIES: readonly (readonly [RegExp, (asked: Asked) => string])[] = [
  [/^http 401/, tokenRemedy],
  [
    /^http 403/,
    ({ base }) => `${base} refuses this client: check --url, and --auth-header if it wants its own`,
  ],
  [/^http 404/, ({ base }) => `there is no Kijito at ${base}: check --url`],
  [/^redirect/, ({ base }) => `${base} leads elsewhere: give --url the address that it leads to`],
  [
    /^unreachable: (given up|no complete answer|nothing came)/,
    ({ base }) => `${base} takes too long: look at its log, or check --url`,
  ],
  [
    /^unreachable: .*(EPROTO|_SSL_|_TLS_|not HTTP)/,
    ({ base }) =>
      `what answers at ${base} does not speak ${base.split(':')[0]}: check http or https in --url, and the port`,
  ],
  [
    /^unreachable: (name not resolved|no way to)/,
    ({ base }) => `this machine finds no way to ${base}: look at its network, or check --url`,
  ],
  [/^unreachable/, ({ base }) => `is Kijito running at ${base}? Start it, or check --url`],
]

/** What a person can do about a failure, by its reason (KS-17); undefined where that is the server's own matter. */
export function remedyOf(reason: string, asked: Asked): string | undefined {
  return REMEDIES.find(([pattern]) => pattern.test(reason))?.[1](asked)
}

/** The token itself is never said, only where it came from. */
function tokenRemedy({ tokenFrom }: Asked): string {
  if (tokenFrom === undefined)
    return 'it wants a token: name a file that holds one with --token-file, or set KIM_TOKEN'
  return tokenFrom.startsWith('$')
    ? `set ${tokenFrom} to a token that it takes, and start again`
    : `write a token that it takes into ${tokenFrom}`
}
