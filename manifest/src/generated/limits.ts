// Generated from limits.json by `npm run gen`; edit the JSON.

/** The bounds, by name; the unit stands in the name. */
export const limitValues = {
  /** bytes: an upstream answer is held in memory once; a larger one is refused, never cut. */
  responseBytesMax: 33554432,
  /** bytes: answers under way are held in memory together, and a server may send many slowly. */
  responsesBytesMax: 134217728,
  /** rows: the smallest rows take fifty times their bytes once they are objects. */
  responseRowsMax: 100000,
  /** code points: a summary is one line for a person; the payload holds the whole. */
  summaryCodePointsMax: 200,
  /** bytes: a name is looked up and listed in notes and headers, and must fit there with its escapes. */
  nameBytesMax: 4096,
  /** bytes: every remembered key is in memory and in each checkpoint. */
  keyBytesMax: 1024,
  /** bytes: a reader takes more than our writer writes, but never an unbounded line. */
  lineReadBytesMax: 16777216,
  /** bytes: a line fits one write and one screenful of memory on every reader. */
  lineWrittenBytesMax: 262144,
  /** levels: deeper values overflow the stack of recursive parsers in other languages. */
  nestingLevelsMax: 256,
  /** records: a reader holds a whole transaction before it may show any of it. */
  txRecordsMax: 1000,
  /** records: one write and one sync stay so short that no caller waits long. */
  commitRecordsMax: 1000,
  /** bytes: one write and one sync stay so short that no caller waits long. */
  commitBytesMax: 1048576,
  /** bytes: a segment is read, hashed and archived whole. */
  segmentBytesMax: 10485760,
  /** personas: a directory larger than this is a mistake or an attack, not a roster. */
  personasMax: 2000,
  /** bytes: a name occurs several times in a record, escaped, and every record must fit a line. */
  personaNameBytesMax: 1024,
  /** bytes: larger payloads are content-addressed, so that scanning lines stays cheap. */
  payloadInlineBytesMax: 65536,
  /** seq: the last number that fits the eight digits of a segment name. */
  seqMax: 99999999,
  /** ratio: widening the name is planned work, so it is announced with ten million records to go. */
  seqWarnRatio: 0.9,
  /** records: more than this cannot have been announced and lost; such a meta.json is wrong, not prophetic. */
  metaAheadRecordsMax: 10000,
  /** records: the ring is for looking back a little; the journal is for looking back. */
  activityRecordsMax: 500,
  /** days: a client may retry an action from an outbox that was offline for weeks. */
  keyRetentionDaysMin: 30,
  /** messages per persona: read mail beyond the newest is tombstoned at a roll, so that live state stays small. */
  readMessagesRetainedMax: 200,
  /** personas: metrics per persona help with a few personas and are a burden to collect for many. */
  metricsPersonasMax: 100,
  /** bytes: consumers of the older monitor take a longer event line for damage and do not wake. */
  monitorLineBytesMax: 16384,
  /** code points: an event line is a doorbell with a glimpse of the message; the journal holds the whole. */
  monitorContentCodePointsMax: 220,
  /** characters: harnesses cut an agent's lines at 500, and a cut line loses the way to the rest. */
  agentLineCharactersMax: 480,
  /** ms: a command that hangs holds back every event behind it. */
  execTimeoutMsMax: 10000,
  /** commands at once: inboxes do not wait for each other's commands, and a burst of mail starts no hundred processes. */
  execCommandsMax: 8,
  /** bytes: a system that is given longer variables starts no command, and one message would hold back all after it. */
  execEventBytesMax: 128000,
  /** ms: a consumer's name is free again this long after its holder died; proper-lockfile allows no less than 2000. */
  consumerLockStaleMsMax: 5000,
} as const
