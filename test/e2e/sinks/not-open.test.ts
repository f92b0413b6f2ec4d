import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { closedDirectory, complete, NF, row } from '../../kit/kijito/index.js'
import { mail, said, wholeLinesIn } from './lines.js'

row(
  'CL-12 later',
  'a shared event file that cannot be opened yet stops neither the journal nor what comes later',
  { standing: { cursor: 4 } },
  async (t, scene) => {
    for (const [at, code] of (['EROFS', 'EACCES'] as const).entries()) {
      const out = join(scene.home, code)
      const path = join(out, 'ev.ndjson')
      const flag = join(scene.home, 'closed')
      mkdirSync(out, { mode: 0o700 })
      writeFileSync(flag, '')
      scene.newest(complete(4, ...(at === 0 ? [5] : [5, 6])))
      const producer = scene.start(
        [...NF, '--events-file', path],
        { KIM_TOKEN: 'tok' },
        closedDirectory(out, flag, code),
      )
      const last = 5 + at
      await scene.tells(`new ${last}`)
      await scene.until('it is refused', () => said(producer.stderr, 'sink_failing').length === 1)
      t.match(said(producer.stderr, 'sink_not_open'), [
        { level: 'warn', msg: new RegExp(`^--events-file: .*${code}`) },
      ])
      t.notOk(existsSync(path))
      rmSync(flag)
      await scene.until('it is announced', () => mail(wholeLinesIn(path)).includes(last))
      t.equal(await producer.stop(), 0)
      t.equal(said(producer.stderr, 'sink_working').length, 1)
    }
  },
)
