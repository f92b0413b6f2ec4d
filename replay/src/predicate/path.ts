/** The paths of an expression: each is checked when it is read, so that a misspelt one is never simply false. */
import { didYouMean } from '@kim/cli-kit'
import { entityIn, type PredicateScope, type Value, valueIn } from './predicate-scope.js'
import { expressionError, type Token } from './token.js'

/** Gives the value of a path. */
type Lookup = (world: PredicateScope) => Value

/** What a value is where it is not null; a payload may hold anything. */
export type Kind = 'number' | 'text' | 'truth' | 'any'

/** A path that was read. */
export interface Path {
  readonly get: Lookup
  readonly kind: Kind
}

/** Whom and what an expression asks about: a name that the journal never knew is never simply false. */
export interface AskedNames {
  readonly personas: Set<string>
  readonly types: Set<string>
  readonly alertKinds: Set<string>
}

type PathToken = Extract<Token, { kind: 'path' }>

const PLAIN: Readonly<Record<string, Lookup>> = {
  seq: ({ seq }) => seq,
  ts: ({ ts }) => ts,
  entities: ({ entities }) => entities.size,
  attention_required: ({ ledger }) => ledger.attention,
  registry_authoritative: ({ registryAuthoritative }) => registryAuthoritative,
  damage: ({ damage }) => damage,
}

const PERSONA: Readonly<Record<string, (world: PredicateScope, name: string) => Value>> = {
  known: ({ ledger }, name) => ledger.get(name) !== undefined,
  unread: ({ ledger }, name) => ledger.get(name)?.unread ?? null,
  messages: ({ ledger }, name) => ledger.get(name)?.messages ?? null,
  newest: ({ ledger }, name) => ledger.get(name)?.newest ?? null,
  alerts: ({ ledger }, name) => ledger.get(name)?.openAlerts ?? null,
  attention: ({ ledger }, name) => ledger.get(name)?.attention ?? null,
  unread_urgent: ({ ledger }, name) => {
    const tally = ledger.get(name)
    return tally === undefined ? null : (ledger.unreadUrgent(tally) ?? null)
  },
  state: ({ ledger }, name) => {
    const tally = ledger.get(name)
    return tally === undefined ? null : (ledger.state(tally) ?? null)
  },
}

const ALERT: Readonly<Record<string, (status: Value, payload: (field: string) => Value) => Value>> = {
  open: status => status === 'open',
  status: status => status,
  reason: (_, payload) => payload('reason'),
}

const ENTITY: Readonly<
  Record<string, (world: PredicateScope, type: string, id: string, rest: readonly string[]) => Value>
> = {
  exists: (world, type, id) => entityIn(world, type, id) !== undefined,
  seq: (world, type, id) => entityIn(world, type, id)?.seq ?? null,
  ts: (world, type, id) => entityIn(world, type, id)?.ts ?? null,
  agent: (world, type, id) => entityIn(world, type, id)?.agent ?? null,
  entity_rev: (world, type, id) => entityIn(world, type, id)?.entity_rev ?? null,
  payload: (world, type, id, rest) => {
    const entity = entityIn(world, type, id)
    return entity === undefined ? null : valueIn(world.payloads.of(entity), rest)
  },
}

const TEXTS: ReadonlySet<string> = new Set(['ts', 'agent', 'state', 'status', 'reason'])
const TRUTHS: ReadonlySet<string> = new Set(['registry_authoritative', 'known', 'open', 'exists'])

/** By the last name of the path, which means the same wherever it stands. */
function kindOf(field: string): Kind {
  if (field === 'payload') return 'any'
  return TEXTS.has(field) ? 'text' : TRUTHS.has(field) ? 'truth' : 'number'
}

const ROOTS = [...Object.keys(PLAIN), 'count', 'persona', 'alert', 'entity']
/** What a path can look like, by its first name. */
export const pathForms: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.keys(PLAIN).map(name => [name, name])),
  count: 'count.TYPE',
  persona: `persona.NAME.{${Object.keys(PERSONA).join(',')}}`,
  alert: `alert.NAME.KIND.{${Object.keys(ALERT).join(',')}}`,
  entity: `entity.TYPE.ID.{${Object.keys(ENTITY).join(',')}}`,
}

/** Reads a path; `asked` collects what it asks about. */
export function pathOf(token: PathToken, asked: AskedNames): Path {
  const { names } = token
  const [root = '', ...rest] = names
  const plain = member(PLAIN, root)
  if (plain !== undefined) {
    if (rest.length > 0) throw expressionError(token.starts[1] ?? 0, `${root} has no parts`)
    return { get: plain, kind: kindOf(root) }
  }
  switch (root) {
    case 'count': {
      const [, type = ''] = exactly(token, 2)
      asked.types.add(type)
      return { get: ({ entities }) => entities.countOf(type), kind: 'number' }
    }
    case 'persona': {
      const [, name = '', field = ''] = exactly(token, 3)
      const get = known(PERSONA, field, token, 2)
      asked.personas.add(name)
      return { get: world => get(world, name), kind: kindOf(field) }
    }
    case 'alert': {
      const [, name = '', kind = '', field = ''] = exactly(token, 4)
      const get = known(ALERT, field, token, 3)
      asked.personas.add(name)
      asked.alertKinds.add(kind)
      return { get: alertLookup(`${name}/${kind}`, get), kind: kindOf(field) }
    }
    case 'entity': {
      const [, type = '', id = '', field = '', ...inner] = names
      if (names.length < 4) throw expressionError(token.at, 'the path is too short', pathForms[root])
      const get = known(ENTITY, field, token, 3)
      if (field !== 'payload' && inner.length > 0)
        throw expressionError(token.starts[4] ?? 0, `${field} has no parts`)
      if (field === 'payload' && inner.length === 0)
        throw expressionError(token.at, 'payload.WHAT?', pathForms[root])
      asked.types.add(type)
      return { get: world => get(world, type, id, inner), kind: kindOf(field) }
    }
  }
  throw expressionError(
    token.at,
    `there is no path "${root.slice(0, 40)}"${didYouMean(root, ROOTS)}`,
    `paths begin with ${ROOTS.join(', ')}`,
  )
}

function alertLookup(id: string, get: (status: Value, payload: (field: string) => Value) => Value): Lookup {
  return world => {
    const entity = entityIn(world, 'alert', id)
    const payload = entity === undefined ? undefined : world.payloads.of(entity)
    return get(valueIn(payload, ['status']), field => valueIn(payload, [field]))
  }
}

function exactly({ names, at }: PathToken, length: number): readonly string[] {
  const form = pathForms[names[0] ?? ''] ?? ''
  if (names.length < length) throw expressionError(at, 'the path is too short', form)
  if (names.length > length)
    throw expressionError(at, 'the path is too long', `${form}; put a name that holds dots in double quotes`)
  return names
}

function member<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

function known<T>(
  table: Readonly<Record<string, T>>,
  name: string,
  { starts, names }: PathToken,
  at: number,
): T {
  const found = member(table, name)
  if (found !== undefined) return found
  const fields = Object.keys(table)
  throw expressionError(
    starts[at] ?? 0,
    `${names[0]} has no "${name.slice(0, 40)}"${didYouMean(name, fields)}`,
    `it has ${fields.join(', ')}`,
  )
}
