/**
 * A process that appends as fast as it can and says on stdout what it was told is durable, after it was told.
 * It is made to be killed. `stop` on stdin, or the end of stdin, lets it close the store and go.
 */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setImmediate as turn } from 'node:timers/promises'
import { KimError } from '@kim/manifest'
import { type Journal, openJournal, type Receipt } from '@kim/producer/internal'
import { Prng } from '../kit/prng.js'
import { type Batch, batchName, draftsOf, isKeyed, type Kind, optionsOf, parseBatch } from './load.js'
import { type Orders, type Said, sharedMs } from './protocol.js'

const orders = JSON.parse(process.argv[2] ?? '{}') as Orders
const prng = new Prng(orders.seed)

// One write a line and no buffer: what was said before a kill has been said.
const say = (said: Said): void => {
  const bytes = Buffer.from(`${JSON.stringify(said)}\n`)
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at)
}

let isStopped = false
const begun = new Promise<void>(resolve => {
  createInterface({ input: process.stdin })
    .on('line', line => {
      if (line === 'stop') isStopped = true
      resolve()
    })
    .on('close', () => {
      isStopped = true
      resolve()
    })
})

const SIZES: Readonly<Record<Kind, number>> = { plain: 30, tx: 20, keyed: 12, 'keyed-tx': 8, blob: 1 }

let made = 0
function nextBatch(): Batch {
  const kind = prng.weighted({ plain: 50, tx: 20, keyed: 15, 'keyed-tx': 10, blob: 5 })
  const records = kind === 'plain' && prng.chance(0.4) ? 1 : prng.between(1, SIZES[kind])
  return { life: orders.life, no: ++made, kind, records }
}

function ask(batch: Batch): void {
  if (isKeyed(batch)) say({ said: 'asking', batch: batchName(batch) })
}

function tell(batch: Batch, { seqs, deduped }: Receipt): void {
  say({
    said: 'receipt',
    batch: batchName(batch),
    seqs,
    deduped: deduped.filter(Boolean).length,
    at: sharedMs(),
  })
}

function append(journal: Journal, batch: Batch): void {
  ask(batch)
  tell(batch, journal.append(draftsOf(batch), optionsOf(batch)))
}

/** Several callers in one turn of the loop, who share a sync. */
async function appendTogether(journal: Journal, batches: readonly Batch[]): Promise<void> {
  for (const batch of batches) ask(batch)
  const asked = batches.map(async batch =>
    tell(batch, await journal.submit(draftsOf(batch), optionsOf(batch))),
  )
  await Promise.all(asked)
}

const pause = new Int32Array(new SharedArrayBuffer(4))

async function work(journal: Journal): Promise<void> {
  for (const name of orders.retry) append(journal, parseBatch(name))
  append(journal, { life: orders.life, no: 0, kind: 'plain', records: 1 })
  while (!isStopped) {
    if (prng.chance(0.25)) {
      await appendTogether(
        journal,
        Array.from({ length: prng.between(2, 5) }, () => nextBatch()),
      )
    } else {
      append(journal, nextBatch())
    }
    // The work that follows a roll must sometimes keep up with the rolls, and sometimes not.
    for (let slices = prng.int(12); slices > 0 && journal.upkeep(); slices--);
    if (prng.chance(0.01)) journal.checkpoint()
    if (prng.chance(0.3)) Atomics.wait(pause, 0, 0, prng.int(3))
    await turn()
  }
}

async function main(): Promise<void> {
  say({ said: 'ready' })
  if (orders.standby) await begun
  const journal = openJournal({
    storeDir: orders.store,
    source: 'http://localhost:7474',
    segmentBytes: 20_000,
    retainRead: 20,
    gzip: orders.life % 2 === 1,
    switches: orders.switches,
  })
  say({ said: 'open', head: journal.head.seq })
  try {
    await work(journal)
  } finally {
    journal.close()
  }
}

try {
  await main()
  process.exit(0)
} catch (error) {
  writeSync(2, `${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(error instanceof KimError ? error.exitCode : 70)
}
