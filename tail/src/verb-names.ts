/** The words that choose a command, for the error that suggests one; a test holds them to the table. */
export const VERB_NAMES: readonly string[] = [
  'show',
  'status',
  'ack',
  'cursors ls',
  'cursors set',
  'cursors rm',
  'personas',
  'schema',
  'completion',
  'activity',
]
