import type { Flag, Input } from '@kim/cli-kit'
import { REDACT_MODES, type RedactMode } from '../redactor.js'

/** What is taken out of what leaves this machine. */
export const redact: Flag = {
  name: 'redact',
  kind: 'string',
  choices: REDACT_MODES,
  default: 'bodies',
  about: 'remove message bodies (bodies), names and ids too (all), or nothing (none)',
}

/** The mode that was asked for. */
export function parseRedactMode(input: Input): RedactMode {
  const mode = input.text('redact')
  return REDACT_MODES.find(each => each === mode) ?? 'bodies'
}
