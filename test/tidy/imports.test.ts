import { dirname, join, normalize } from 'node:path'
import t from 'tap'
import { type Breach, report, sources, textOf } from './sources.js'

/**
 * The stages of each package, upstream first. A stage may import from the stages named before it and from its
 * own; what stands at the top of `src/` and under `cli/` composes and sees all of them.
 */
const STAGES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'observer-sdk': [['store'], ['watch', 'verify'], ['tail'], ['project'], ['cursors'], ['deliver']],
  producer: [
    ['effects'],
    ['source', 'journal'],
    ['core'],
    ['sinks', 'control', 'os-service'],
    ['run'],
    ['cli'],
  ],
}

/** Which package may import which, by name. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  manifest: [],
  'cli-kit': ['@kim/manifest'],
  'observer-sdk': ['@kim/manifest'],
  monitor: ['@kim/manifest'],
  tail: ['@kim/manifest', '@kim/cli-kit', '@kim/observer-sdk', '@kim/monitor'],
  replay: ['@kim/manifest', '@kim/cli-kit', '@kim/observer-sdk', '@kim/monitor'],
  producer: ['@kim/manifest', '@kim/cli-kit', '@kim/observer-sdk', '@kim/monitor'],
}

/** Programs that a host could have written: they use the doors of packages that are made for hosts. */
const HOSTS = ['tail/src/', 'replay/src/', 'monitor/src/'] as const

/** Those that still use a door for our tests. The list only gets shorter. */
const OLD_INSIDERS: readonly string[] = []

function importsOf(file: string): { line: number; target: string }[] {
  return textOf(file)
    .split('\n')
    .flatMap((text, index) => {
      const target = /(?<!')(?:from|import)\s*\(?\s*'([^']+)'/.exec(text)?.[1]
      return target === undefined || /^\s*(\/\/|\*)/.test(text) ? [] : [{ line: index + 1, target }]
    })
}

t.test('packages - import only what the table allows, and siblings by name', async t => {
  const breaches: Breach[] = []
  let seen = 0
  for (const [name, allowed] of Object.entries(MAY_IMPORT)) {
    for (const file of sources(`${name}/src/`)) {
      for (const { line, target } of importsOf(file)) {
        seen++
        const ours =
          target.startsWith('@kim/') && !allowed.some(one => target === one || target.startsWith(`${one}/`))
        const outside =
          target.startsWith('.') && !normalize(join(dirname(file), target)).startsWith(`${name}/src/`)
        if (ours || outside) breaches.push({ file, line, text: `imports ${target}` })
      }
    }
  }
  t.ok(seen > 0, 'imports were found')
  t.same(report(breaches), [])
})

t.test('stages - imports point upstream only', async t => {
  const breaches: Breach[] = []
  for (const [name, stages] of Object.entries(STAGES)) {
    const rank = new Map(stages.flatMap((group, index) => group.map(stage => [stage, index] as const)))
    const stageOf = (path: string): string => path.slice(`${name}/src/`.length).split('/')[0] ?? ''
    for (const file of sources(`${name}/src/`)) {
      const own = stageOf(file)
      if (!file.slice(`${name}/src/`.length).includes('/')) continue
      if (!rank.has(own))
        breaches.push({ file, line: 1, text: `"${own}" is not a stage; name it in the table of this test` })
      for (const { line, target } of importsOf(file)) {
        if (!target.startsWith('.')) continue
        const other = stageOf(normalize(join(dirname(file), target)))
        if (other === own || (own === 'cli' && !rank.has(other))) continue
        const upstream = (rank.get(other) ?? Number.POSITIVE_INFINITY) < (rank.get(own) ?? -1)
        if (!upstream) breaches.push({ file, line, text: `${own} imports ${target}` })
      }
    }
  }
  t.same(report(breaches), [])
})

t.test('hosts - tail, replay and monitor use public doors only', async t => {
  const insiders = sources(...HOSTS).filter(file =>
    importsOf(file).some(({ target }) => /^@kim\/[\w-]+\/internal$/.test(target)),
  )
  t.same(insiders.sort(), [...OLD_INSIDERS].sort(), 'whatever a program of ours needs, every host needs')
})

t.test('producer - only cli and sinks see the observer', async t => {
  const files = sources('producer/src/').filter(file => !/^producer\/src\/(cli|sinks)\//.test(file))
  const breaches = files.flatMap(file =>
    importsOf(file)
      .filter(({ target }) => target.startsWith('@kim/observer-sdk'))
      .map(({ line, target }) => ({ file, line, text: `imports ${target}` })),
  )
  t.same(report(breaches), [])
})

/** Every file that a door loads, and what each imports. */
function reachedFrom(door: string): Map<string, readonly string[]> {
  const reached = new Map<string, readonly string[]>()
  const open = [door]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue
    const targets = importsOf(file).map(({ target }) => target)
    reached.set(file, targets)
    for (const target of targets)
      if (target.startsWith('.')) open.push(normalize(join(dirname(file), target)).replace(/\.js$/, '.ts'))
  }
  return reached
}

t.test('observer-sdk - who embeds it loads nothing beyond the manifest and chokidar', async t => {
  const reached = reachedFrom('observer-sdk/src/index.ts')
  t.ok(reached.size > 20, `${reached.size} files`)
  const breaches = [...reached].flatMap(([file, targets]) =>
    targets
      .filter(target => !/^(\.|node:)/.test(target) && !['@kim/manifest', 'chokidar'].includes(target))
      .map(target => `${file} imports ${target}`),
  )
  t.same(breaches, [])
})

t.test('doors - are written by hand, name by name', async t => {
  const doors = sources('').filter(file => /^[\w-]+\/src\/(index|internal)\.ts$/.test(file))
  t.ok(doors.length >= 4)
  const breaches = doors.flatMap(file =>
    /export \*/.test(textOf(file)) ? [{ file, line: 1, text: 'export *' }] : [],
  )
  t.same(report(breaches), [])
})
