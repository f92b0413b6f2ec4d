import {
  formatCount,
  formatDuration,
  type Input,
  type Io,
  locateStore,
  printReport,
  safeText,
} from '@kim/cli-kit'
import type { Observer } from '@kim/observer-sdk'
import { type Consumer, consumersOf } from '@kim/observer-sdk/consumers'
import { type ProducerState, producerState } from '../flow/health.js'
import { noPersona, statusText, withObserver } from '../journal.js'
import { describePersona, type PersonaRow, personaRows } from './personas.js'

/** What `--check` exits with. */
const CHECK: Readonly<Record<ProducerState['state'], number>> = { up: 0, stale: 7, down: 7, unknown: 8 }

/** `kim-tail status`: unread mail here, unread mail elsewhere, the producer and the consumers, kept apart. */
export async function run(input: Input, io: Io): Promise<number> {
  const location = locateStore(input, io.env)
  const producer = producerState(location)
  const facts = await withObserver(location, observer => ({
    head: observer.head.seq,
    projectId: observer.projectId,
    status: observer.status,
    rows: personaRows(observer.state.values()),
  }))
  const asked = input.list('persona')
  const stranger = asked.find(name => !facts.rows.some(({ persona }) => persona === name))
  if (stranger !== undefined)
    throw noPersona(
      stranger,
      facts.rows.map(({ persona }) => persona),
    )
  const own = asked.length === 0 ? facts.rows : facts.rows.filter(({ persona }) => asked.includes(persona))
  const others = facts.rows.filter(row => !own.includes(row))
  const consumers = consumersOf({
    env: io.env,
    only: input.text('consumer'),
    projectId: facts.projectId,
    headSeq: facts.head,
  })
  const report = {
    consumers,
    head_seq: facts.head,
    journal: { events: location.eventsDir, project_id: facts.projectId, ...facts.status },
    others: {
      personas: others.length,
      unread: sum(others, 'unread'),
      unread_urgent: sum(others, 'unread_urgent'),
    },
    personas: own,
    producer: {
      evidence: producer.evidence,
      seen: producer.seenMs === undefined ? null : new Date(producer.seenMs).toISOString(),
      state: producer.state,
    },
  }
  printReport(io, input.bool('json'), report, textOf(report, producer))
  return input.bool('check') ? CHECK[producer.state] : 0
}

interface Report {
  readonly consumers: readonly Consumer[]
  readonly head_seq: number
  readonly journal: { readonly events: string } & Observer['status']
  readonly others: { readonly personas: number; readonly unread: number; readonly unread_urgent: number }
  readonly personas: readonly PersonaRow[]
}

function textOf(report: Report, producer: ProducerState): string[] {
  const { consumers, head_seq: head, journal, others, personas } = report
  const seen =
    producer.seenMs === undefined
      ? ''
      : `; last sign ${formatDuration(Math.max(0, Date.now() - producer.seenMs))} ago`
  return [
    `journal   ${safeText(journal.events)}, ${statusText(journal)}, head ${head}`,
    `producer  ${producer.state} (${producer.evidence}${seen})`,
    ...personas.map(row => `persona   ${safeText(row.persona)}: ${describePersona(row)}`),
    ...(others.personas === 0
      ? []
      : [`others    ${others.unread} unread in the journal, of ${formatCount(others.personas, 'persona')}`]),
    ...consumers.map(consumer => `consumer  ${consumerText(consumer)}`),
  ]
}

function consumerText({ behind, consumer, in_use: isUsed, seq }: Consumer): string {
  const place =
    seq === null
      ? 'no cursor: it never began, or its file is damaged or cannot be read (see: kim-tail cursors ls)'
      : behind === null
        ? `at seq ${seq} of another journal`
        : `at seq ${seq}; ${formatCount(behind, 'record')} of all personas follow${behind === 1 ? 's' : ''}`
  return `${consumer}: ${place}, ${isUsed ? 'in use' : 'not in use'}`
}

function sum(rows: readonly PersonaRow[], member: 'unread' | 'unread_urgent'): number {
  return rows.reduce((total, row) => total + row[member], 0)
}
