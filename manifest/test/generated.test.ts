import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { actionClasses } from '@kim/manifest'
import t from 'tap'
import type { Classifiable } from '../dist/classify.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const manifest = join(root, 'manifest')
const committed = join(manifest, 'src', 'generated')
const sources = ['action-classes.json', 'limits.json', 'anomalies.json']

const scratch = mkdtempSync(join(tmpdir(), 'kim-generated-'))
t.teardown(() => rmSync(scratch, { recursive: true, force: true }))

/** What the committed script makes of the JSON in a folder, formatted as it is when committed. */
function generate(from: string, name: string): Map<string, string> {
  const to = join(scratch, name)
  execFileSync(process.execPath, [join(root, 'scripts', 'dist', 'gen-manifest.js'), from, to])
  const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome')
  const files = readdirSync(to).sort()
  return new Map(
    files.map(file => {
      const path = `--stdin-file-path=manifest/src/generated/${file}`
      const input = readFileSync(join(to, file))
      return [
        file,
        execFileSync(process.execPath, [biome, 'format', path], { cwd: root, input, encoding: 'utf8' }),
      ]
    }),
  )
}

const fresh = generate(manifest, 'fresh')

t.test('generated - what is committed is what the script makes of the JSON', async t => {
  t.same([...fresh.keys()], readdirSync(committed).sort())
  for (const [file, text] of fresh) {
    t.equal(readFileSync(join(committed, file), 'utf8'), text, `${file}: run npm run gen`)
  }
})

t.test(
  'generated - adding a verb changes the generated types, and behaviour follows the data, CO-4 OB-35',
  async t => {
    const edited = join(scratch, 'edited')
    mkdirSync(edited)
    for (const file of sources) cpSync(join(manifest, file), join(edited, file))
    const path = join(edited, 'action-classes.json')
    const classes = JSON.parse(readFileSync(path, 'utf8')) as typeof actionClasses & {
      verbs: Record<string, string>
    }
    classes.verbs['adopt'] = 'entity-state'
    writeFileSync(path, JSON.stringify(classes))

    const changed = generate(edited, 'changed')
    const differing = [...changed].filter(([file, text]) => text !== fresh.get(file)).map(([file]) => file)
    t.same(differing, ['action-classes.ts'])
    const before = new Set(fresh.get('action-classes.ts')?.split('\n'))
    const added = changed
      .get('action-classes.ts')
      ?.split('\n')
      .filter(line => !before.has(line))
    t.same(added, ["  | 'adopt'", "    adopt: 'entity-state',"])

    writeFileSync(
      path,
      JSON.stringify({
        ...classes,
        verbs: { ...classes.verbs, create: 'tombstone', frobnicate: 'observability' },
        item_types: { message: { sections: ['gates'] } },
        attention: {
          rules: [{ item_type: 'message', when: [{ field: 'read', one_of: [false] }] }],
          sums: [],
        },
        wake_classes: { heartbeat: 'mail', armed: 'liveness', recovered: 'diagnostic' },
        unclassified_wake: 'liveness',
        delivery_tries: { mail: 3, diagnostic: null, liveness: 2 },
        delivered_as: { armed: 'diagnostic' },
        never_news: ['update'],
        alert_kinds: {
          ...classes.alert_kinds,
          'id-regressed': { meaning: 'x', is_outage: true, names_in: 'names' },
        },
      }),
    )
    const source = join(scratch, 'src')
    cpSync(join(manifest, 'src'), source, { recursive: true })
    for (const [file, text] of generate(edited, 'built')) writeFileSync(join(source, 'generated', file), text)
    const config = join(root, 'manifest', 'tsconfig.json')
    const built = join(scratch, 'tsconfig.json')
    writeFileSync(
      built,
      JSON.stringify({
        extends: config,
        compilerOptions: {
          rootDir: 'src',
          outDir: 'dist',
          tsBuildInfoFile: 'dist/.tsbuildinfo',
          typeRoots: [join(root, 'node_modules', '@types')],
        },
        include: ['src'],
      }),
    )
    writeFileSync(join(scratch, 'package.json'), '{"type":"module"}')
    cpSync(
      join(root, 'node_modules', 'fast-json-stable-stringify'),
      join(scratch, 'node_modules', 'fast-json-stable-stringify'),
      { recursive: true },
    )
    execFileSync(process.execPath, [join(root, 'node_modules', 'typescript', 'lib', 'tsc.js'), '-p', built])
    const rebuilt = (await import(join(scratch, 'dist', 'index.js'))) as typeof import('@kim/manifest')
    const touching = (action: string, fields: object = {}): Classifiable => ({
      ...{ action, item_type: 'message', item_id: 'river/1', payload: {} },
      ...fields,
    })
    const { effectOf, deliveryTriesOf } = rebuilt
    t.equal(rebuilt.classOf('adopt'), 'entity-state', 'the code follows the data')
    t.equal(effectOf({ action: 'adopt', item_type: 'x', item_id: 'y' }), 'activity')
    t.equal(effectOf(touching('create')), 'remove')
    t.equal(effectOf(touching('frobnicate')), 'activity')
    t.same(rebuilt.sectionsOf(touching('update')), ['gates'])
    const waiting = [
      { item_type: 'message', payload: { read: false } },
      { item_type: 'action', payload: {} },
      { item_type: 'message' },
    ]
    t.equal(rebuilt.attentionOf(waiting), 1)
    t.equal(rebuilt.wakeClassOf('heartbeat'), 'mail')
    t.equal(rebuilt.wakeClassOf('new'), 'liveness')
    t.equal(deliveryTriesOf('heartbeat'), 3)
    t.equal(deliveryTriesOf('new'), 2)
    t.equal(deliveryTriesOf('armed'), Number.POSITIVE_INFINITY)
    t.notOk(rebuilt.isNews(touching('update', { event: 'x' })))
    t.ok(rebuilt.alertFacts({ kind: 'id-regressed' }).is_outage)
    t.ok(rebuilt.isAccountAlertKind('id-regressed'))
  },
)
