import { type Entity, EntityTable } from '@kim/manifest'
import t from 'tap'
import { Payloads, PersonaLedger, type PredicateScope, parsePredicate } from '../dist/internal.js'

const payloads = new Payloads('nowhere')
const message = {
  item_type: 'message',
  item_id: 'river/1',
  agent: 'river',
  entity_rev: 3,
  seq: 7,
  payload: { persona: 'river', id: 1, read: false, deep: { list: [1, 'two'] }, ['__proto__']: 'own' },
}
const alert = {
  item_type: 'alert',
  item_id: 'river/unreachable',
  agent: 'river',
  seq: 8,
  payload: { persona: 'river', kind: 'unreachable', status: 'open', reason: 'refused' },
}
const odd = {
  item_type: 'persona',
  item_id: 'a "b".c/\u0000',
  seq: 9,
  payload: { unread_urgent: 2, state: 'up' },
}

function worldOf(): PredicateScope {
  const entities = new EntityTable<Entity>()
  for (const entity of [message, alert, odd])
    entities.put(entities.take(entity.item_type, entity.item_id), entity, undefined)
  const ledger = new PersonaLedger(payloads, entities.images())
  return {
    entities,
    ledger,
    payloads,
    registryAuthoritative: true,
    damage: 2,
    seq: 9,
    ts: '2026-06-10T00:00:00.000Z',
  }
}

const world = worldOf()
const asks = (text: string): boolean => parsePredicate(text).holds(world)

t.test('CL-45 predicate - compares what the state holds', async t => {
  const yes = [
    'persona.river.unread > 0',
    'persona.river.unread >= 1 and persona.river.alerts = 1',
    'persona.river.newest == 1 && persona.river.known',
    'not persona.argus.known',
    '!(persona.argus.known) || false',
    'persona.argus.unread = null',
    'entity.message."river/1".exists',
    'entity.message."river/1".payload.read = false',
    'entity.message."river/1".payload.deep.list.1 = "two"',
    "entity.message.'river/1'.entity_rev != 2",
    'alert.river.unreachable.open and alert.river.unreachable.reason = "refused"',
    'persona."a \\"b\\".c/\\u0000".unread_urgent = 2',
    "persona.'a \"b\".c/\\u0000'.state = 'up'",
    'count.message = 1',
    'count.gate = 0',
    'entities = 3 and damage = 2 and seq = 9 and registry_authoritative',
    'ts > "2026-06-09"',
    'attention_required = 3',
    'entity.message."river/1".payload.id != "1" and entity.message."river/1".payload.id < 2',
    'persona.argus.state = null and registry_authoritative != false',
    '-1 < seq',
    'true',
    '1 != "1"',
  ]
  for (const text of yes) t.ok(asks(text), text)
  const no = [
    'persona.river.unread > 1',
    'null < 1',
    'persona.argus.unread < 5',
    'entity.message."river/1".payload.deep = "x"',
    'entity.message."river/1".payload.constructor != null',
    'entity.message."river/1".payload.deep.toString != null',
    'count.constructor > 0',
    'not true',
    '1 = "1"',
  ]
  for (const text of no) t.notOk(asks(text), text)
  t.ok(asks('entity.message."river/1".payload.__proto__ = "own"'), 'a key is a key, whatever it is called')
  t.same(parsePredicate('persona.a.unread > 1 or alert.b.c.open or count.d = entity.e.f.seq').asked, {
    personas: new Set(['a', 'b']),
    types: new Set(['d', 'e']),
    alertKinds: new Set(['c']),
  })
})

t.test('CL-45 predicate - refuses what it cannot read, and says in which column', async t => {
  const wrong: readonly (readonly [text: string, column: number, why: RegExp])[] = [
    ['', 1, /a value is missing at the end/],
    ['seq >', 6, /a value is missing at the end/],
    ['seq > > 5', 7, /expected a value, found ">"/],
    ['(seq > 5', 1, /never closed/],
    ['seq > 5)', 8, /unexpected text after/],
    ['seq > 5 entities', 9, /unexpected text after/],
    ['seq = "x', 7, /never closed/],
    ['seq = "\\q"', 8, /unknown escape/],
    ['5', 1, /value alone/],
    ['"x"', 1, /value alone/],
    ['seq > 5x', 7, /not a number/],
    ['seq > 1.2.3', 7, /not a number/],
    ['seq ; process.exit()', 5, /unexpected ";"/],
    ['process.exit(1)', 1, /no path "process"/],
    ['constructor.constructor > 1', 1, /no path "constructor"/],
    ['__proto__ = 1', 1, /no path "__proto__"/],
    ['persona.river.constructor', 15, /persona has no "constructor"/],
    ['persona.river.unred > 1', 15, /did you mean unread/],
    ['persona.river', 1, /too short/],
    ['persona.river.unread.x', 1, /too long/],
    ['persona..unread', 9, /name is missing/],
    ['entity.message.x.payload', 1, /a field of the payload is missing/],
    ['entity.message.x.seq.y', 22, /no parts/],
    ['seq.x = 1', 5, /no parts/],
    ['seqq = 1', 1, /did you mean seq/],
    ['seq = \u202e', 7, /U\+202E/],
    ['seq', 1, /a number alone/],
    ['not ts', 5, /a text alone/],
    ['persona.river.unread', 1, /a number alone/],
    ['count.message or seq > 1', 1, /a number alone/],
    ['alert.river.unreachable.reason', 1, /a text alone/],
    ['null', 1, /a value alone/],
    ['persona.river.unread > "3"', 24, /cannot compare a number with a text/],
    ['ts > 5', 6, /cannot compare a text with a number/],
    ['5 = persona.river.state', 5, /cannot compare a number with a text/],
    ['persona.river.known = 1', 23, /cannot compare true or false with a number/],
    ['seq = ts', 7, /cannot compare a number with a text/],
    ['persona.river.known > true', 1, /true or false has no order/],
    ['seq < null', 7, /null has no order/],
    [`${'('.repeat(65)}true${')'.repeat(65)}`, 65, /64 levels/],
    [`${'not '.repeat(65)}true`, 257, /64 levels/],
    [`seq = ${'1'.repeat(5000)}`, 4097, /longer than 4096/],
  ]
  for (const [text, column, why] of wrong) {
    try {
      parsePredicate(text)
      t.fail(`taken: ${text.slice(0, 40)}`)
    } catch (error) {
      t.match(error, { code: 'usage', message: why }, text.slice(0, 40))
      t.match(
        (error as Error).message,
        new RegExp(`column ${column}: `),
        `${text.slice(0, 40)}: ${(error as Error).message}`,
      )
    }
  }
})

t.test('CL-45 predicate - any text is read or refused', async t => {
  const words = [
    'seq',
    '.',
    '"',
    "'",
    '(',
    ')',
    'and',
    'not',
    '<',
    '=',
    '!',
    '5',
    '-',
    '\\',
    'persona',
    'x',
    ' ',
    '\u0000',
    '😀',
    'entity',
  ]
  let state = 12345
  const next = (): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return state >>> 8
  }
  let read = 0
  for (let i = 0; i < 3000; i++) {
    const text = Array.from({ length: next() % 12 }, () => words[next() % words.length]).join('')
    try {
      parsePredicate(text).holds(world)
      read++
    } catch (error) {
      if ((error as { code?: string }).code !== 'usage') t.fail(`${JSON.stringify(text)}: ${String(error)}`)
    }
  }
  t.ok(read >= 0)
})
