import {
  type AskResult,
  bodyText,
  Kijito,
  performCommand,
  type Rule,
  type RuleEffect,
  settingsOf,
} from '@kim/example-kijito-sim'
import t from 'tap'

const at = (monoMs: number): { monoMs: number; wallMs: number } => ({
  monoMs,
  wallMs: 1_780_000_000_000 + monoMs,
})

function account(...rules: Rule[]): Kijito {
  const kijito = new Kijito(settingsOf('hosted', { pageRows: 3 }))
  performCommand(kijito, { do: 'send', to: 'river', from: 'argus', content: 'hello', count: 5 }, at(0))
  for (const rule of rules) performCommand(kijito, { do: 'rule', ...rule }, at(0))
  return kijito
}

function ask(kijito: Kijito, query: Record<string, string> = {}, path = '/api/inbox', monoMs = 0): AskResult {
  const headers = { 'user-agent': 'test/1' }
  return kijito.ask(
    { method: 'GET', path, query: { persona: 'river', mark_read: 'false', ...query }, headers },
    at(monoMs),
  )
}

function body(outcome: AskResult): Record<string, unknown> {
  if (outcome.kind === 'held') throw new Error('it is held')
  return JSON.parse(bodyText(outcome.answer.body)) as Record<string, unknown>
}

const status = (outcome: AskResult): number => (outcome.kind === 'answer' ? outcome.answer.status : 0)

t.test('rules - the nth request gets the nth effect, and the last goes on', async t => {
  const kijito = account({
    on: { endpoint: 'inbox' },
    effect: [{ status: 500 }, {}, { status: 503 }],
    skip: 1,
  })
  t.same(
    Array.from({ length: 5 }, () => status(ask(kijito))),
    [200, 500, 200, 503, 503],
  )
})

t.test('rules - end after their times, are named, and the newest decides', async t => {
  const kijito = account(
    { on: { endpoint: 'inbox', page: 'walk' }, effect: { status: 500 }, name: 'walks' },
    { on: { before_id: 3 }, effect: { status: 404 }, times: 1 },
  )
  t.equal(status(ask(kijito)), 200)
  t.equal(status(ask(kijito, { before_id: '3' })), 404)
  t.equal(status(ask(kijito, { before_id: '3' })), 500)
  t.equal(status(ask(kijito, { persona: 'loom', before_id: '9' })), 500)
  performCommand(kijito, { do: 'drop_rules', name: 'walks' }, at(0))
  t.equal(status(ask(kijito, { before_id: '3' })), 200)
})

t.test('rules - set and leave out members of a body and of its rows', async t => {
  const effect = {
    patch: { truncated: 'yes' },
    omit: ['next_before_id'],
    patch_rows: { id: '5' },
    omit_rows: ['read'],
  }
  const page = body(ask(account({ on: {}, effect })))
  t.match(page, { truncated: 'yes', size_dropped: 0 })
  t.notOk('next_before_id' in page)
  t.same(Object.keys((page['result'] as object[])[0] ?? {}), ['id', 'from', 'content', 'created'])
})

t.test('rules - make pages that no server should give', async t => {
  const page = (distort: RuleEffect['distort']): Record<string, unknown> & { result: { id: number }[] } =>
    body(ask(account({ on: {}, effect: { distort } as RuleEffect }), { before_id: '3' })) as never
  const ids = (distort: RuleEffect['distort']): number[] => page(distort).result.map(({ id }) => id)
  t.same(ids('ignore-before-id'), [5, 4, 3])
  t.same(ids('repeat-row'), [2, 1, 1])
  t.same(ids('empty-page'), [])
  t.match(page('skip-rows'), { truncated: true, next_before_id: 0 })
  t.match(page('claim-more'), { truncated: false, size_dropped: 0, next_before_id: 1 })
  t.match(page('claim-end'), { truncated: true, next_before_id: null })
})

t.test('rules - put a whole body in the place of the real one', async t => {
  const said = (effect: RuleEffect): string => {
    const outcome = ask(account({ on: {}, effect }))
    return outcome.kind === 'answer' ? bodyText(outcome.answer.body) : ''
  }
  t.equal(said({ text: '{"result":[{"id":99999999999999999999999}]}' }).length, 43)
  t.equal(said({ json: null }), 'null')
  t.equal(said({ base64: Buffer.from('héllo').toString('base64') }), 'héllo')
})

t.test('long poll - is held until there is mail, or until it is due', async t => {
  const kijito = account()
  const pending = (query: Record<string, string>, monoMs: number): AskResult =>
    ask(kijito, query, '/api/notify/pending', monoMs)
  t.equal(pending({ wait: '50' }, 0).kind, 'answer', 'the first is not held')
  t.equal(pending({ wait: '50', cursor: 'm4' }, 0).kind, 'answer', 'an old token is not')
  t.equal(pending({ cursor: 'm5' }, 0).kind, 'answer', 'without a wait it is not')
  const outcome = pending({ wait: '500', cursor: 'm5' }, 1000)
  if (outcome.kind !== 'held') throw new Error('it is not held')
  t.equal(outcome.held.dueMs, 61_000, 'the server has a maximum of its own')
  t.equal(outcome.held.settle(at(2000)), undefined)
  performCommand(kijito, { do: 'read', persona: 'river' }, at(2000))
  t.equal(outcome.held.settle(at(2000)), undefined)
  performCommand(kijito, { do: 'send', to: 'loom', from: 'argus', content: 'hello' }, at(2500))
  t.match(outcome.held.settle(at(2500)), { status: 200, body: { json: { cursor: 'm6' } } })
  t.match(outcome.entry, { atMs: 1000, endedMs: 2500, status: 200, wentAway: false })

  const quiet = pending({ wait: '2', cursor: 'm6' }, 3000)
  if (quiet.kind !== 'held') throw new Error('it is not held')
  t.equal(quiet.held.settle(at(4999)), undefined)
  t.match(quiet.held.settle(at(5000)), { body: { json: { cursor: 'm6' } } })
})

t.test('long poll - can be held by a rule, and let go by one', async t => {
  const kijito = account({
    on: { endpoint: 'pending' },
    effect: [{ hold_ms: 700, patch: { cursor: 5 } }, { hold_ms: 0 }],
  })
  const first = ask(kijito, {}, '/api/notify/pending')
  if (first.kind !== 'held') throw new Error('it is not held')
  t.match(first.held.settle(at(700)), { body: { json: { cursor: 5 } } })
  t.equal(ask(kijito, { wait: '9', cursor: 'm5' }, '/api/notify/pending').kind, 'answer')
})

t.test('log - keeps what was asked, and finds it again', async t => {
  const kijito = account({ on: { persona: 'loom' }, effect: { status: 500 } })
  ask(kijito)
  ask(kijito, { before_id: '3' })
  ask(kijito, { persona: 'loom' })
  const log = (on: object, since?: number): unknown =>
    performCommand(kijito, { do: 'log', on, ...(since === undefined ? {} : { since }) }, at(9))
  t.match(log({ page: 'walk' }), [{ n: 2, query: { before_id: '3', mark_read: 'false' } }])
  t.match(log({}, 3), [{ n: 3, status: 500, headers: { 'user-agent': 'test/1' } }])
  t.equal(performCommand(kijito, { do: 'count' }, at(9)), 3)
})

t.test('ids - can be left out, and start again', async t => {
  const kijito = account()
  performCommand(kijito, { do: 'ids', skip: 10 }, at(0))
  t.same(performCommand(kijito, { do: 'send', to: 'river', from: 'argus', content: 'a' }, at(0)), [16])
  performCommand(kijito, { do: 'remove', persona: 'river' }, at(0))
  performCommand(kijito, { do: 'ids', next: 1 }, at(0))
  t.same(
    performCommand(kijito, { do: 'send', to: 'river', from: 'argus', content: 'a', count: 2 }, at(0)),
    [1, 2],
  )
})
