import t from 'tap'
import { repositoryFiles, textOf } from './sources.js'

interface Manifest {
  readonly name: string
  readonly version?: string
  readonly private?: boolean
  readonly type?: string
  readonly engines?: { readonly node?: string }
  readonly bin?: Record<string, string>
  readonly scripts?: Record<string, string>
  readonly dependencies?: Record<string, string>
  readonly devDependencies?: Record<string, string>
  readonly exports?: Record<string, unknown>
}

const files = repositoryFiles().filter(file => /(^|\/)package\.json$/.test(file) && !file.startsWith('spec/'))
const manifests = files.map(file => ({ file, json: JSON.parse(textOf(file)) as Manifest }))
const lock = JSON.parse(textOf('package-lock.json')) as {
  packages: Record<string, { hasInstallScript?: boolean; resolved?: string; link?: boolean }>
}

t.test('dependencies - are pinned exactly', async t => {
  const loose = manifests.flatMap(({ file, json }) =>
    Object.entries({ ...json.dependencies, ...json.devDependencies })
      .filter(([, range]) => !/^\d+\.\d+\.\d+$/.test(range))
      .map(([name, range]) => `${file}: ${name} ${range}`),
  )
  t.same(loose, [])
})

t.test('dependencies - run no script when they are installed', async t => {
  t.same(
    Object.entries(lock.packages)
      .filter(([, entry]) => entry.hasInstallScript === true)
      .map(([name]) => name),
    [],
  )
})

t.test('lockfile - carries no download address', async t => {
  const resolved = Object.entries(lock.packages).filter(
    ([, entry]) => entry.resolved !== undefined && entry.link !== true,
  )
  t.same(
    resolved.map(([name]) => name),
    [],
  )
})

t.test('versions - of our packages agree', async t => {
  const ours = manifests.filter(({ json }) => json.name.startsWith('@kim/'))
  t.ok(ours.length >= 5)
  const version = ours[0]?.json.version
  t.same(
    ours.filter(({ json }) => json.version !== version).map(({ file }) => file),
    [],
  )
  const stale = manifests.flatMap(({ file, json }) =>
    Object.entries(json.dependencies ?? {})
      .filter(([name, range]) => name.startsWith('@kim/') && range !== version)
      .map(([name]) => `${file}: ${name}`),
  )
  t.same(stale, [])
})

t.test('packages - bring the licence along, the same for all', async t => {
  const published = manifests.filter(({ json }) => json.private !== true)
  t.ok(published.length >= 4)
  for (const { file } of published) {
    const copy = file.replace('package.json', 'LICENSE')
    t.equal(repositoryFiles().includes(copy) && textOf(copy), textOf('LICENSE'), copy)
  }
})

t.test('packages - are ESM for the same Node, with a string default door', async t => {
  for (const { file, json } of manifests) {
    t.equal(json.type, 'module', file)
    if (json.private === true) continue
    t.equal(json.engines?.node, '^20.19 || ^22.12 || >=24', file)
    const door = json.exports?.['.'] as { default?: unknown } | undefined
    t.type(door?.default, 'string', file)
  }
})

/**
 * Signals must be met before anything is loaded: until then "poll now" would open a debugger (CL-15), and an end would
 * not be the one that was asked for (CL-14).
 */
const FIRST_STATEMENTS: Readonly<Record<string, readonly RegExp[]>> = {
  './bin/kim-producer.js': [
    /^process\.on\('SIGUSR1', \(\) => undefined\)$/,
    /^for \(const signal of \['SIGTERM', 'SIGINT'\]\) \{$/,
    /^ {2}process\.on\(signal, \(\) => \{$/,
    /^ {4}\/\/ /,
    /^ {4}if \(process\.listenerCount\(signal\) > 1\) return$/,
    /^ {4}process\.exit\(/,
    /^ {2}\}\)$/,
    /^\}$/,
  ],
}

t.test('bins - are committed launchers of compiled code, two lines but for signals', async t => {
  let seen = 0
  for (const { file, json } of manifests) {
    for (const path of Object.values(json.bin ?? {})) {
      seen++
      const lines = textOf(`${file.slice(0, -'package.json'.length)}${path.slice(2)}`)
        .trimEnd()
        .split('\n')
      const first = FIRST_STATEMENTS[path]
      t.equal(lines.length, 2 + (first?.length ?? 0), path)
      t.equal(lines[0], '#!/usr/bin/env node')
      first?.forEach((statement, at) => void t.match(lines[1 + at], statement))
      t.match(
        lines.at(-1),
        first === undefined ? /^import '\.\.\/dist\/.*\.js'$/ : /^await import\('\.\.\/dist\/.*\.js'\)$/,
      )
    }
  }
  t.equal(seen, 3)
})

t.test('observer-sdk - installs what a reader needs, and no command', async t => {
  const sdk = manifests.find(({ json }) => json.name === '@kim/observer-sdk')?.json
  t.same(Object.keys(sdk?.dependencies ?? {}).sort(), ['@kim/manifest', 'chokidar', 'proper-lockfile'])
  t.equal(sdk?.bin, undefined)
})
