import { type JsonValue, nonceOf } from '@kim/manifest'
import { bodyOf, idOf, type JournalFacts, type RecordLine, senderOf, typeOf, wakeOf } from '../record-line.js'

/** Reads `payload.from` or a derived name from a record; undefined where there is nothing. */
export function valueAt(path: string, { record }: RecordLine, facts: JournalFacts): JsonValue | undefined {
  switch (path) {
    case 'id':
      return idOf(record, facts)
    case 'nonce':
      return nonceOf(idOf(record, facts))
    case 'type':
      return typeOf(record)
    case 'persona':
      return record.agent
    case 'from':
      return senderOf(facts.payloadOf(record))
    case 'text':
      return bodyOf(record, facts.payloadOf(record))
    case 'wake':
      return wakeOf(record)
    default:
      break
  }
  const [first = '', ...rest] = path.split('.')
  let value: unknown = first === 'payload' ? facts.payloadOf(record) : own(record.raw, first)
  for (const name of rest) value = own(value, name)
  return value as JsonValue | undefined
}

/** A member that the object itself has: `__proto__` and its kin are names like any other. */
function own(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}
