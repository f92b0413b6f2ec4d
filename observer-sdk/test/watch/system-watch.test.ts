import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openChokidarWatch } from '../../dist/watch/chokidar-watch.js'
import { openPlainWatch, type SystemWatch } from '../../dist/watch/watch.js'

type Said = 'heard' | 'armed' | 'broken'

/** A watch with everything it said. */
interface Watched {
  readonly said: Said[]
  readonly watch: SystemWatch
  until(what: Said): Promise<void>
}

function watched(t: Test, open: typeof openPlainWatch, directory: string): Watched {
  const said: Said[] = []
  const watch = open(directory, {
    heard: () => void said.push('heard'),
    armed: () => void said.push('armed'),
    broken: () => void said.push('broken'),
  })
  t.teardown(() => watch.close())
  const until = async (what: Said): Promise<void> => {
    while (!said.includes(what)) await sleep(2)
  }
  return { said, watch, until }
}

// Where appends are reported at all; elsewhere the interval of OB-22 finds them.
const skip = process.platform !== 'linux'

for (const [name, open] of [
  ['plain', openPlainWatch],
  ['chokidar', openChokidarWatch],
] as const) {
  t.test(
    `${name} watch - is armed, and hears an append, a new file and a rename, OB-24`,
    { skip },
    async t => {
      const directory = t.testdir({ a: '' })
      const { said, until } = watched(t, open, directory)
      await until('armed')
      for (const change of [
        () => appendFileSync(join(directory, 'a'), 'x'),
        () => writeFileSync(join(directory, 'b'), ''),
        () => renameSync(join(directory, 'b'), join(directory, 'c')),
        () => rmSync(join(directory, 'c')),
      ]) {
        said.length = 0
        change()
        await until('heard')
      }
      t.notMatch(said, ['broken'])
    },
  )

  t.test(`${name} watch - hears every one of many directories go, and closes after it`, { skip }, async t => {
    const root = t.testdir({})
    for (let i = 0; i < 5; i++) {
      const directory = join(root, 'events')
      mkdirSync(directory)
      const { said, watch, until } = watched(t, open, directory)
      await until('armed')
      said.length = 0
      rmSync(directory, { recursive: true })
      await until('heard')
      watch.close()
    }
    t.pass('and nothing was thrown')
  })

  t.test(`${name} watch - says nothing once it is closed`, { skip }, async t => {
    const directory = t.testdir({ a: '' })
    const { said, watch, until } = watched(t, open, directory)
    await until('armed')
    appendFileSync(join(directory, 'a'), 'x')
    watch.close()
    watch.close()
    said.length = 0
    appendFileSync(join(directory, 'a'), 'x')
    await sleep(20)
    await turn()
    t.same(said, [])
  })
}

t.test('plain watch - of no directory is broken and throws nothing', async t => {
  const { said, watch } = watched(t, openPlainWatch, join(t.testdir({}), 'nowhere'))
  t.same(said, ['broken'])
  watch.close()
})
