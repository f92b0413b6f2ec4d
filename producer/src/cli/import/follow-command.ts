import { createHash } from 'node:crypto'
import { shellWord } from '@kim/cli-kit'

/** What can name a consumer (CL-24): it is a file name on every system. */
const CONSUMER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/
const HASH_DIGITS = 8

/**
 * What takes the place of who follows an event file; of all inboxes without a persona. It is a consumer with a name, so
 * that it resumes and tells nothing twice, and begins at the first record, so that nothing is lost before it is started.
 * Not so where a producer has begun: it may have told what stands there.
 */
export function followCommand(storeDir: string, persona: string | undefined, isBegun: boolean): string {
  const whose = persona === undefined ? '--all-personas' : `--persona ${shellWord(oneName(persona))}`
  const start = isBegun ? '' : ' --start earliest'
  return `kim-tail --store ${shellWord(storeDir)} ${whose} -f -o monitor --consumer ${consumerName(persona)}${start}`
}

/** A comma parts two names there. */
function oneName(persona: string): string {
  return persona.replaceAll(',', '\\,')
}

function consumerName(persona: string | undefined): string {
  if (persona === undefined) return 'all-inboxes'
  if (CONSUMER.test(persona)) return persona
  return `inbox-${createHash('sha256').update(persona).digest('hex').slice(0, HASH_DIGITS)}`
}
