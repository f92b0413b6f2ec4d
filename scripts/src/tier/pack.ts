import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { capture } from './command.js'
import type { Result } from './result.js'
import type { TierStep } from './step.js'

/** The folders of the packages that are published, those that others import first. */
export const PUBLISHED: readonly string[] = [
  'manifest',
  'cli-kit',
  'observer-sdk',
  'monitor',
  'tail',
  'replay',
  'producer',
]

/** Checks of what would be published, not of what stands in the checkout. */
export const packSteps: readonly TierStep[] = [
  {
    name: 'publint',
    run: () => forEach('package manifests', name => capture('publint', [name, '--strict'])),
  },
  {
    name: 'attw',
    run: () =>
      forEach('types as a consumer resolves them', name =>
        capture('attw', ['--pack', name, '--profile', 'esm-only']),
      ),
  },
  { name: 'pack', run: smoke },
]

async function forEach(
  note: string,
  run: (name: string) => Promise<{ code: number; output: string }>,
): Promise<Result> {
  let passed = 0
  let output = ''
  for (const name of PUBLISHED) {
    const result = await run(name)
    if (result.code === 0) passed++
    else output += `${name}\n${result.output}\n`
  }
  const failed = PUBLISHED.length - passed
  return { ok: failed === 0, passed, failed, skipped: 0, note, said: [], output }
}

const CONSUMER = `
import * as manifest from '@kim/manifest'
import * as monitor from '@kim/monitor'
import * as sdk from '@kim/observer-sdk'
import * as consumers from '@kim/observer-sdk/consumers'
import * as history from '@kim/observer-sdk/history'
import * as verify from '@kim/observer-sdk/verify'
import * as producer from '@kim/producer'
console.log([manifest, monitor, sdk, consumers, history, verify, producer].every(door => typeof door === 'object'))
`

/** Packs everything, installs the tarballs together in an empty project, runs the bins, imports the doors, compiles a consumer. */
async function smoke(): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'kim-pack-'))
  const checks: [name: string, code: number, output: string][] = []
  const check = async (name: string, program: string, args: string[], cwd = folder): Promise<boolean> => {
    const { code, output } = await capture(program, args, { cwd })
    checks.push([name, code, output])
    return code === 0
  }
  try {
    const workspaces = PUBLISHED.flatMap(name => ['--workspace', name])
    const packed = await capture('npm', [
      'pack',
      ...workspaces,
      '--ignore-scripts',
      '--pack-destination',
      folder,
    ])
    checks.push(['npm pack', packed.code, packed.output])
    const tarballs = readdirSync(folder).filter(name => name.endsWith('.tgz'))
    writeFileSync(join(folder, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }\n')
    writeFileSync(join(folder, 'consumer.mts'), CONSUMER)
    const installed = await check('install', 'npm', [
      'install',
      '--prefer-offline',
      ...tarballs.map(name => `./${name}`),
    ])
    if (installed) {
      const bin = join(folder, 'node_modules', '.bin')
      for (const name of ['kim-tail', 'kim-replay', 'kim-producer'])
        await check(name, join(bin, name), ['--version'])
      // What a supervisor starts has to be there.
      const print = [
        'install-service',
        '--print',
        '--target',
        'systemd-user',
        '--store',
        join(folder, 'store'),
      ]
      if (await check('unit', join(bin, 'kim-producer'), print)) {
        const [, program = '', script = ''] =
          /^ExecStart=(\S+) (?:--\S+ )*(\S+) run /m.exec(checks.at(-1)?.[2] ?? '') ?? []
        await check('unit starts', program, [script, '--version'])
      }
      const flags = [
        '--module',
        'nodenext',
        '--target',
        'es2023',
        '--strict',
        '--types',
        'node',
        '--skipLibCheck',
        'false',
      ]
      const typeRoots = ['--typeRoots', join(process.cwd(), 'node_modules', '@types')]
      if (await check('consumer compiles', 'tsc', [...flags, ...typeRoots, 'consumer.mts'])) {
        await check('consumer runs', process.execPath, ['consumer.mjs'])
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const bad = checks.filter(([, code]) => code !== 0)
  return {
    ok: bad.length === 0,
    passed: checks.length - bad.length,
    failed: bad.length,
    skipped: 0,
    note: 'tarballs installed and used in an empty project',
    said: [],
    output: bad.map(([name, , output]) => `${name}\n${output}`).join('\n'),
  }
}
