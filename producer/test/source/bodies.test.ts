import { BodyBudget, type BudgetedBody, judgeCounts, validatePage } from '@kim/producer/internal'
import t from 'tap'

const BYTES_MAX = 134_217_728

/** Bodies of given sizes, in the order in which they began; what comes back says which were given up. */
function givenUp(sizes: readonly number[]): readonly number[] {
  const budget = new BodyBudget()
  const gone: number[] = []
  const bodies = sizes.map((bytes, at): BudgetedBody => ({ bytes, giveUp: () => void gone.push(at) }))
  for (const body of bodies) budget.open(body)
  budget.grew()
  return gone
}

t.test(
  'bodies - all of them together hold no more than they may; the largest goes first (KS-6, KS-59)',
  async t => {
    const third = Math.floor(BYTES_MAX / 4)
    t.same(givenUp([BYTES_MAX - 5, 5]), [])
    t.same(givenUp([5, BYTES_MAX - 4]), [1])
    t.same(givenUp([third, third, 100, third, third]), [0], 'of several the one that began first')
    t.same(givenUp([third, third, third, third, third, third]), [0, 1])
    const budget = new BodyBudget()
    const ended: BudgetedBody = { bytes: BYTES_MAX, giveUp: () => t.fail('it had ended') }
    budget.open(ended)
    budget.close(ended)
    budget.open({ bytes: 100, giveUp: () => t.fail('there is room') })
    budget.grew()
  },
)

t.test('rows - an answer of more than 100 000 is a failed request (KS-6, KS-17)', async t => {
  const rows = Array.from({ length: 100_001 }, (_, n) => ({ id: n + 1 }))
  const page = validatePage({ result: rows }, 'local', true)
  t.match(page, { ok: false, failure: { token: 'shape-invalid', reason: /more than 100000 rows/ } })
  t.equal(validatePage({ result: rows.slice(1) }, 'local', true).ok, true)
  t.equal(judgeCounts({ result: rows }).ok, false)
})
