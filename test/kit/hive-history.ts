/** Some days of a hive, as its producer would have written them: mail, outages, alerts, and times without a producer. */
import { join } from 'node:path'
import { type Draft, openJournal } from '@kim/producer/internal'
import { Prng } from './prng.js'
import { SimClock } from './sim-clock.js'

/** What is to have happened. */
export interface HiveHistory {
  readonly messages: number
  readonly personas: readonly string[]
  readonly days: number
  /** What somebody wrote. */
  readonly text?: string
  readonly seed?: number
}

/** Writes it into a store and returns the events directory. */
export function writeHiveHistory(storeDir: string, history: HiveHistory): string {
  const { messages, personas, days, text = 'the tests are green', seed = 7 } = history
  const clock = new SimClock()
  const rng = new Prng(seed)
  const runs = 4
  const batches = Math.max(runs * 8, Math.ceil(messages / 250))
  const step = (days * 86_400_000) / batches
  const next = new Map<string, number>()
  const down = new Set<string>()
  let left = messages
  let done = 0
  for (let run = 0; run < runs; run++) {
    const journal = openJournal({ storeDir, source: 'http://localhost:7474', clock, gc: false })
    journal.append([
      note('producer_started', { node: 'v20.19.0', pid: 101, platform: 'linux', version: '0.1.0' }),
    ])
    for (const until = ((run + 1) * batches) / runs; done < until; done++) {
      const drafts: Draft[] = []
      const share = Math.ceil(left / (batches - done))
      // Where many are to come in, they come in small commits, each at its own time.
      const commits = Math.min(20, Math.max(1, share))
      for (let i = 0; i < commits; i++) {
        clock.advance((step / commits) * (0.5 + rng.u32() / 2 ** 32))
        const many = Math.ceil((share - Math.floor((share * i) / commits)) / (commits - i))
        for (let n = Math.min(many, left); n > 0; n--, left--) {
          const persona = rng.pick(personas)
          if (down.has(persona)) continue
          const id = (next.get(persona) ?? 0) + 1
          next.set(persona, id)
          const wait = Math.floor(rng.chance(0.9) ? 200 + rng.int(4000) : rng.int(4_000_000))
          drafts.push(message(persona, id, clock.wallMs() - wait, text, false))
          if (id > 3 && rng.chance(0.3))
            drafts.push(message(persona, id - 3, clock.wallMs() - wait, text, true))
        }
        if (drafts.length > 0) journal.append(drafts.splice(0))
      }
      const persona = rng.pick(personas)
      if (down.delete(persona)) journal.append([unreachable(persona, 'cleared')])
      else if (rng.chance(0.3)) {
        down.add(persona)
        journal.append([unreachable(persona, 'open')])
      }
    }
    // One run in two ends as it should.
    if (run % 2 === 0) journal.append([note('producer_stopped', { reason: 'SIGTERM' })])
    journal.close()
    clock.advance(step * 2)
  }
  return join(storeDir, 'events')
}

function note(kind: string, more: object): Draft {
  const payload = { kind, schema_version: 1, ...more }
  return { agent: 'kim', action: 'journal_note', item_type: 'journal', item_id: kind, summary: kind, payload }
}

function message(persona: string, id: number, created: number, content: string, read: boolean): Draft {
  const more = { from: 'argus', content, content_length: content.length, read }
  const at = new Date(created).toISOString()
  return {
    agent: persona,
    action: read ? 'update' : 'create',
    item_type: 'message',
    item_id: `${persona}/${id}`,
    summary: `from argus: ${content}`,
    payload: { schema_version: 1, persona, id, created: at, ...more },
    ...(read ? {} : { event: 'new' }),
  }
}

function unreachable(persona: string, status: 'open' | 'cleared'): Draft {
  const reason = 'http-502: bad gateway'
  return {
    agent: persona,
    action: status === 'open' ? 'create' : 'update',
    item_type: 'alert',
    item_id: `${persona}/unreachable`,
    event: status === 'open' ? 'alert' : 'recovered',
    summary: `unreachable ${status}`,
    payload: { schema_version: 1, persona, kind: 'unreachable', status, reason, seconds: 42 },
  }
}
