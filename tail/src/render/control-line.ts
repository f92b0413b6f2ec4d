import { word } from './words.js'

/** Characters of one value in a control line. */
const VALUE_CHARACTERS = 160

/**
 * A line about the stream itself, for an agent that sees nothing but stdout: `kim ready seq=4711 backlog=3`.
 * Record lines begin with `seq=`, so neither can be taken for the other. Undefined members are left out.
 */
export function controlLine(
  name: string,
  facts: Readonly<Record<string, string | number | undefined>>,
): string {
  const words = Object.entries(facts)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${word(String(value), VALUE_CHARACTERS)}`)
  return ['kim', name, ...words].join(' ')
}
