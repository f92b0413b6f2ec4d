/** Words in names of commands, flags, error codes and public types that mean there what they mean everywhere. */
const USUAL = `
  after all allow at author body bytes case change chars check clock clocks closed cold color content corrupt count counts damage damaged
  deadline default environment every example exclude exhausted exit explain facts failed is failure fast fields find fix follow foreign
  found from full held id import install internal invalid keep kind large like limit line lines location look mail match max memory mismatch
  missing moment moved name no not of on only open out outcome parent pass path permitted place play prefix print private progress query
  quiet rate read readings reason rediscover repair result resync retain safe seconds self sensitive set show shutdown since source speed start
  status summary suppress target text time timeout timeline title to too type uninstall until up urgent usage view wait weight with
  attempts command delivery effects plan refusal runner anomaly error code object kim
  actor append delay draft history outline range receipt report
`

/** Words that people who use a terminal, or write programs, know from elsewhere. */
const OF_THE_FIELD = `
  ack auth completion config commit diff doctor dry emit emitted entry exec export fenced file gc grep gzip header host
  json linger log logs loopback ls memento ms options output permitted poke ref retry rm run schema service stats template test token
  url utc caught held
`

/** Words that names may be made of besides those of the glossary. */
export const PLAIN_WORDS: ReadonlySet<string> = new Set(`${USUAL} ${OF_THE_FIELD}`.trim().split(/\s+/))

/**
 * Words of the specification and of the code that a person who runs it need not know. README, `docs/` and help use them only
 * if the glossary explains them.
 */
export const JARGON: readonly string[] = [
  'arming',
  'backfill',
  'baseline',
  'bell',
  'canonical',
  'capability',
  'classifier',
  'desk',
  'doorbell',
  'envelope',
  'fence',
  'floor',
  'fold',
  'framing',
  'generation',
  'glimpse',
  'grave',
  'group commit',
  'hive',
  'idempotency',
  'image',
  'lane',
  'ledger',
  'pin',
  'projection',
  'recovery zone',
  'reducer',
  'resync',
  'revision',
  'sighting',
  'silent run',
  'superblock',
  'tombstone',
  'torn',
  'transaction',
  'wake class',
]
