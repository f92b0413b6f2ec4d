import { didYouMean, safeText } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import type { Missing } from './damage.js'
import type { EventName } from './event-name.js'

/** What a search came by. */
export interface Known {
  readonly personas: ReadonlySet<string>
  /** Of the messages of the persona that was named, the number that is closest. */
  readonly nearest: number | undefined
}

/** The journal holds no record of this name, or it is among what is missing; says which persona may have been meant. */
export function notFound(
  name: EventName,
  { personas, nearest }: Known,
  { exit, findings }: Pick<Missing, 'exit' | 'findings'>,
): KimError {
  const what = name.kind === 'seq' ? `record with seq ${name.text}` : `event ${safeText(name.text)}`
  if (exit !== 0) {
    const found = Object.entries(findings).map(
      ([kind, { examples }]) => `${kind}: ${examples[0]?.detail ?? ''}`,
    )
    return new KimError(
      exit === 5 ? 'gap_found' : 'record_corrupt',
      `what can be read of the journal holds no ${what}`,
      { hint: `${safeText(found.join('; '))}; see: kim-replay verify` },
    )
  }
  if (name.kind === 'seq' || personas.has(name.persona))
    return new KimError('no_record', `the journal holds no ${what}`, nearestHint(name, nearest))
  return new KimError('no_record', `the journal holds no ${what}`, {
    hint: noSuchPersona(name.persona, personas),
  })
}

function nearestHint(name: EventName, nearest: number | undefined): { readonly hint?: string } {
  if (name.kind !== 'message' || nearest === undefined) return {}
  return { hint: `did you mean ${safeText(name.persona)}:new:${nearest}? It is the nearest that there is` }
}

/** The journal knows nobody of this name. */
export function unknownPersona(persona: string, personas: Iterable<string>): KimError {
  return new KimError('no_persona', `the journal knows no persona ${safeText(persona)}`, {
    hint: noSuchPersona(persona, new Set(personas)),
  })
}

/** The journal holds nothing of this type, and nobody else does. */
export function unknownType(type: string, held: Iterable<string>, known: Iterable<string>): KimError {
  const types = [...held].sort()
  const near = didYouMean(type, [...types, ...known])
  return new KimError('no_record', `the journal holds no item of type ${safeText(type)}${safeText(near)}`, {
    hint: `there are: ${listed(types)}`,
  })
}

/** No alert of this kind was ever raised, and none ever is. */
export function unknownAlertKind(kind: string, known: Iterable<string>): KimError {
  const kinds = [...known]
  return new KimError(
    'no_record',
    `the journal holds no alert ${safeText(kind)}${safeText(didYouMean(kind, kinds))}`,
    {
      hint: `known kinds are: ${kinds.join(', ')}`,
    },
  )
}

function noSuchPersona(persona: string, personas: ReadonlySet<string>): string {
  const names = [...personas].sort()
  return `no persona ${safeText(persona)}${safeText(didYouMean(persona, names))}; there are: ${listed(names)}`
}

const SHOWN = 8

function listed(names: readonly string[]): string {
  const shown = names
    .slice(0, SHOWN)
    .map(name => safeText(name))
    .join(', ')
  return names.length > SHOWN ? `${shown} and ${names.length - SHOWN} more` : shown
}
