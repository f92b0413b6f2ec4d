import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storePaths } from '@kim/manifest'
import { memoryCursors, openObserver } from '@kim/observer-sdk'
import type { Draft } from '../../journal/draft.js'
import { openJournal } from '../../journal/journal.js'
import type { SelfTestResult } from './self-test-result.js'

/** How long a reader may take to notice before it counts as not noticing. */
const NOTICE_MS_MAX = 5000

/** Activity: no state, no event, nothing that anybody could take for mail. */
const DRAFT: Draft = {
  agent: 'self-test',
  action: 'session_start',
  item_type: 'agent_session',
  item_id: 'self-test',
  summary: 'a self-test',
}

/** Appends to a journal of its own in the temporary directory, durably, while a reader follows it. */
export async function tryJournal(source: string): Promise<SelfTestResult[]> {
  const home = mkdtempSync(join(tmpdir(), 'kim-self-test-'))
  try {
    const storeDir = join(home, 'store')
    const journal = openJournal({ storeDir, source })
    const observer = await openObserver({ eventsDir: storePaths(storeDir).events, cursors: memoryCursors() })
    try {
      const began = performance.now()
      const [seq = 0] = journal.append([DRAFT]).seqs
      const durable = performance.now()
      const isSeen = await within(observer.waitFor(seq), NOTICE_MS_MAX)
      const seen = performance.now()
      const append: SelfTestResult = {
        part: 'journal',
        name: 'append',
        ok: true,
        detail: 'one record is durable',
        ms: durable - began,
      }
      const noticed = isSeen
        ? 'a reader saw the record'
        : `no reader saw the record within ${NOTICE_MS_MAX / 1000} s`
      return [append, { part: 'reader', name: 'follow', ok: isSeen, detail: noticed, ms: seen - durable }]
    } finally {
      await observer.close()
      journal.close()
    }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** True if it was so in time. */
async function within(event: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>(resolve => {
    timer = setTimeout(() => resolve(false), ms)
  })
  const isInTime = await Promise.race([event.then(() => true), late])
  clearTimeout(timer)
  return isInTime
}
