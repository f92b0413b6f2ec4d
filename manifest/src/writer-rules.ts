import { classOf } from './classify.js'
import type { EventRecord } from './envelope.js'
import {
  isActor,
  isClock,
  isCount,
  isJsonObject,
  isPayloadRef,
  isSeq,
  isTx,
  nameIn,
  textIn,
} from './envelope.js'
import { actionClasses } from './generated/action-classes.js'
import { clipSummary } from './limits.js'

const tsText = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const writerText = /^w_\d+-[0-9a-f]+$/

const fields: ReadonlySet<string> = new Set([
  'action',
  'actor',
  'agent',
  'clock',
  'entity_rev',
  'event',
  'item_id',
  'item_type',
  'key',
  'payload',
  'payload_ref',
  'seq',
  'summary',
  'ts',
  'tx',
  'v',
  'writer',
])

/** The first rule of the writer that a record breaks, if any. */
export function faultOf(r: EventRecord): string | undefined {
  if (r.v !== actionClasses.envelope_version) return 'v'
  if (!isSeq(r.seq)) return 'seq'
  if (!tsText.test(r.ts)) return 'ts'
  if (!writerText.test(r.writer)) return 'writer'
  if (nameIn(r.agent) === undefined) return 'agent'
  const actionClass = classOf(r.action)
  if (actionClass === undefined) return 'action'
  if (nameIn(r.item_type) === undefined) return 'item_type'
  if (nameIn(r.item_id) === undefined) return 'item_id'
  if (!isCount(r.entity_rev)) return 'entity_rev'
  if (textIn(r.summary) === undefined || clipSummary(r.summary) !== r.summary) return 'summary'
  if (r.payload !== undefined && !(isJsonObject(r.payload) && isSeq(r.payload['schema_version'])))
    return 'payload'
  if (r.payload_ref !== undefined) {
    const allowed = r.payload === undefined && actionClass !== 'journal-meta' && isPayloadRef(r.payload_ref)
    if (!allowed) return 'payload_ref'
  }
  if (r.event !== undefined && nameIn(r.event) === undefined) return 'event'
  if (r.key !== undefined && nameIn(r.key) === undefined) return 'key'
  if (r.actor !== undefined && (r.key === undefined || !isActor(r.actor))) return 'actor'
  if (r.clock !== undefined && !isClock(r.clock)) return 'clock'
  if (r.tx !== undefined && !isTx(r.tx)) return 'tx'
  return Object.keys(r).find(key => !fields.has(key))
}
