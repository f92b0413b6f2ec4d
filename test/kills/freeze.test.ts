import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { storePaths } from '@kim/manifest'
import { verifyJournal } from '@kim/observer-sdk/verify'
import t from 'tap'
import { isSoak } from '../kit/prng.js'
import { refusalProblems } from './campaign.js'
import { Child, killAll } from './child.js'
import { Ledger } from './ledger.js'

/** Longer than the stale timeout of any lock that is kept alive by touching a file. */
const FROZEN_MS = isSoak() ? 60_000 : 3000

t.setTimeout(300_000)
const store = mkdtempSync(join(tmpdir(), 'kim-freeze-'))
t.teardown(() => {
  killAll()
  rmSync(store, { recursive: true, force: true })
})

t.test('freeze - a holder that stands still keeps its store, and goes on where it stood', async t => {
  const ledger = new Ledger()
  const start = (life: number): Child =>
    new Child({ store, life, seed: life, retry: [], standby: false, switches: {} }, ledger)

  const holder = start(1)
  await holder.until(() => holder.receipts >= 20)
  holder.signal('SIGSTOP')
  await sleep(FROZEN_MS / 2)
  const frozenAt = holder.receipts
  for (const life of [2, 3]) {
    const rival = start(life)
    t.strictSame(refusalProblems(await rival.end, store, holder.pid), [], 'a competitor is turned away')
    if (life === 2) await sleep(FROZEN_MS / 2)
  }
  t.equal(holder.receipts, frozenAt, 'the holder did nothing meanwhile')
  t.notOk(holder.isOver, 'and is alive')

  holder.signal('SIGCONT')
  await holder.until(() => holder.receipts >= frozenAt + 50)
  holder.tell('stop')
  const { code, complaint } = await holder.end
  t.equal(code, 0, complaint)

  const next = start(4)
  await next.until(() => next.receipts >= 10)
  next.tell('stop')
  t.equal((await next.end).code, 0, 'the next one has the store')

  const { events } = storePaths(store)
  t.equal((await verifyJournal({ eventsDir: events })).exit, 0)
  t.strictSame(ledger.audit(events), [])
  t.comment(`frozen for ${FROZEN_MS} ms, 2 turned away with 75, ${ledger.receipts} receipts`)
})
