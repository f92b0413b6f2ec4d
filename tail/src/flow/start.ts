import { usageError } from '@kim/cli-kit'
import { type ConsumerCursor, KimError, type ReadRecord } from '@kim/manifest'
import type { Plan } from '../plan.js'
import { findRecord } from '../read/find-record.js'
import type { RecordLog } from '../read/record-log.js'
import type { JournalFacts } from '../record-line.js'
import type { FeedStart } from './feed.js'

/** Where a command begins, once the journal was looked at. */
export interface Beginning {
  readonly start: FeedStart
  /** Entries that stand there are selected apart, by number or time, and printed first. */
  readonly printsPast: boolean
  /** A consumer that never began: what stands there is passed over, and that is said. */
  readonly isNew: boolean
}

const AT_HEAD: Beginning = { start: { kind: 'head' }, printsPast: false, isNew: false }

/** Resolves a position to a place. `stored` is what a consumer or a cursor file holds. */
export function beginningOf(
  plan: Plan,
  stored: ConsumerCursor | undefined,
  past: RecordLog | undefined,
  facts: JournalFacts,
): Beginning {
  const { position } = plan
  switch (position.kind) {
    case 'last':
    case 'since':
      return { ...AT_HEAD, printsPast: true }
    case 'after':
      requireProject(position.projectId, past, facts, 'the cursor', 'leave out the cursor')
      return after(position.projectId, position.seq, position.writer)
    case 'after-event': {
      const found = past === undefined ? undefined : findRecord(past, position.ref, facts)
      if (found?.kind !== 'record') throw new KimError('no_record', '--after-id: no record has this id')
      const { seq, writer } = found.entry.record
      return after(undefined, seq, writer ?? null)
    }
    case 'after-message':
      return afterMessage(position.id, plan, past, facts)
    case 'consumer':
      if (stored === undefined) return unstarted(plan, position.name)
      requireProject(
        stored.projectId,
        past,
        facts,
        `the consumer "${position.name}"`,
        `start over: kim-tail cursors rm ${position.name}`,
      )
      return after(stored.projectId, stored.seq, stored.writer)
    case 'cursor-file':
      // As with journalctl, a file that is not there yet stands for the usual start.
      if (stored === undefined) return AT_HEAD
      requireProject(stored.projectId, past, facts, 'the cursor file', 'remove the file to start over')
      return after(stored.projectId, stored.seq, stored.writer)
    default:
      return position satisfies never
  }
}

function after(projectId: string | undefined, seq: number, writer: string | null): Beginning {
  return { start: { kind: 'after', projectId, seq, writer }, printsPast: false, isNew: false }
}

function unstarted(plan: Plan, name: string): Beginning {
  switch (plan.start) {
    case 'new':
      return { ...AT_HEAD, isNew: true }
    case 'earliest':
      return after(undefined, 0, null)
    case 'fail':
      throw new KimError('no_cursor', `the consumer "${name}" has no cursor`)
    default:
      return plan.start satisfies never
  }
}

/** A cursor of another journal must not be taken for a place in this one. */
function requireProject(
  wanted: string | undefined,
  past: RecordLog | undefined,
  facts: JournalFacts,
  whose: string,
  orElse: string,
): void {
  if (wanted === undefined || past === undefined || wanted === facts.projectId()) return
  throw usageError(`${whose} belongs to another journal`, `name its journal with --store DIR, or ${orElse}`)
}

/** The first message above an id, wherever it stands; without one, what comes after all that was looked at. */
function afterMessage(id: number, plan: Plan, past: RecordLog | undefined, facts: JournalFacts): Beginning {
  const [persona] = plan.selection.personas
  let last: Pick<ReadRecord, 'seq' | 'writer'> = { seq: 0, writer: undefined }
  for (const { record } of past?.forwards() ?? []) {
    if (record.seq >= last.seq) last = record
    if (record.agent !== persona || record.item_type !== 'message') continue
    const number = facts.payloadOf(record)?.['id']
    const stands = record.action === 'create' || record.action === 'backfill'
    if (stands && typeof number === 'number' && number > id) return after(undefined, record.seq - 1, null)
  }
  return after(undefined, last.seq, last.writer ?? null)
}
