/** Opens and closes observers, then says what still holds the process. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { segmentName } from '@kim/manifest'
import { memoryCursors, openObserver } from '@kim/observer-sdk'

const [eventsDir = '', manner = ''] = process.argv.slice(2)
const absent = manner === 'absent'
const observer = await openObserver({
  eventsDir: absent ? join(eventsDir, 'nowhere') : eventsDir,
  cursors: memoryCursors(),
})
const active = join(eventsDir, segmentName(1))
if (manner === 'while-appending') {
  await sleep(300)
  for (let i = 0; i < 40; i++) {
    appendFileSync(active, '\n')
    await sleep(i % 3)
  }
  appendFileSync(active, '\n')
  await new Promise(resolve => setImmediate(resolve))
}
if (manner === 'in-a-pull') {
  const pulled = (async () => {
    for await (const _ of observer.changes()) process.stdout.write('a change\n')
  })()
  await sleep(50)
  await observer.close()
  await pulled
}
await observer.close()
// Asked before the loop could run what is left: a timer that fires later would show here. A file call that is
// under way ends by itself. This runs without the test runner's loaders, so a message port would be ours.
const left = process
  .getActiveResourcesInfo()
  .filter(kind => !/^(TTYWrap|PipeWrap|FSReqPromise|CloseReq|Immediate)$/.test(kind))
process.stdout.write(left.length === 0 ? 'nothing left\n' : `${left.join(' ')}\n`)
