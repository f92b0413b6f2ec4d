import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const vector = join(root, 'spec/vectors/inbox-story/events')
const [, install = '', program = ''] =
  /^## Embed the reader[\s\S]*?^```\n([\s\S]*?)^```[\s\S]*?^```ts\n([\s\S]*?)^```/m.exec(
    readFileSync(join(root, 'README.md'), 'utf8'),
  ) ?? []

/** The folders of the packages that others wrote and ours need, from what is installed here. */
function needed(folder: string, found: Map<string, string> = new Map()): Map<string, string> {
  const manifest = join(folder, 'package.json')
  const { dependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    dependencies?: Record<string, string>
  }
  for (const name of Object.keys(dependencies).filter(name => !found.has(name))) {
    const places = (createRequire(manifest).resolve.paths(name) ?? []).map(path => join(path, name))
    const place = name.startsWith('@kim/') ? join(root, name.slice(5)) : places.find(path => existsSync(path))
    if (place === undefined) throw new Error(`${name} is not installed`)
    if (!name.startsWith('@kim/')) found.set(name, place)
    needed(place, found)
  }
  return found
}

t.test('README - C1 the packages install into an empty project, and its program runs', async t => {
  const project = join(t.testdir({ others: {}, project: {} }), 'project')
  const [packages, others] = [join(project, '../packages'), join(project, '../others')]
  const env = {
    ...process.env,
    npm_config_offline: 'true',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  }
  const run = (cwd: string, line: string): string =>
    execFileSync('sh', ['-c', line], { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  writeFileSync(join(project, 'package.json'), '{ "name": "reader", "private": true }\n')

  // No registry is asked: what others wrote comes from here too.
  const folders = [...needed(join(root, 'observer-sdk')).values()].map(path => `'${path}'`)
  run(root, `npm pack --silent --ignore-scripts ${folders.join(' ')} --pack-destination '${others}'`)
  run(project, `npm install '${others}'/*.tgz`)
  const lines = install.replaceAll('~/kim-packages', `'${packages}'`).trim().split('\n')
  t.equal(lines.length, 3)
  for (const line of lines) run(line.includes('in your project') ? project : root, line)
  t.same(readdirSync(join(project, 'node_modules/@kim')).sort(), ['manifest', 'observer-sdk'])

  mkdirSync(join(project, 'src'))
  writeFileSync(join(project, 'src/main.mjs'), program.replace('spec/vectors/inbox-story/events', vector))
  const child = spawn(process.execPath, ['src/main.mjs'], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let said = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    said += chunk
    if (/^\d+\n(\d+ .+\n)*7 create message\n/.test(said)) break
  }
  t.match(said, /^\d+\n(\d+ .+\n)*7 create message\n/, 'the count of unread mail, then the news')
})
