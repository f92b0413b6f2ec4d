import { existsSync, readFileSync } from 'node:fs'
import { type Check, type Found, fine, unseen } from '../check.js'

/** A service names Node and this program by their paths, and upgrades move both. */
export const service: Check = {
  id: 'service',
  about: 'the installed service can start',
  look: ({ service: place }) => {
    if (place === undefined) return unseen('no supervisor of this platform is known')
    if (!existsSync(place.file)) {
      return {
        status: 'warn',
        evidence: `${place.name} is not installed: nothing starts a producer after a crash or a login`,
        remedy: 'kim-producer install-service --linger',
      }
    }
    const bytes = readFileSync(place.file)
    const isWide = bytes[0] === 0xff && bytes[1] === 0xfe
    return judged(place.name, bytes.toString(isWide ? 'utf16le' : 'utf8'))
  },
}

function judged(name: string, text: string): Found {
  const [node, script] = programs(text)
  const missing = [node, script].filter(path => path !== undefined && !existsSync(path))
  if (node === undefined || script === undefined) {
    return {
      status: 'warn',
      evidence: `${name} does not start kim-producer as it was written to`,
      remedy: REINSTALL,
    }
  }
  if (missing.length > 0) {
    return {
      status: 'fail',
      evidence: `${name} starts ${missing.join(' and ')}, which is gone`,
      remedy: REINSTALL,
    }
  }
  return fine(`${name} starts ${script}`)
}

const REINSTALL = 'kim-producer install-service, with the flags it had'

/** The two programs a service file names, whichever supervisor it is for. */
function programs(text: string): [node: string | undefined, script: string | undefined] {
  const line = /^ExecStart=(.*)$/m.exec(text)?.[1]
  if (line !== undefined)
    return pick([...line.matchAll(/"((?:\\.|[^"\\])*)"|(\S+)/g)].map(m => m[1] ?? m[2] ?? ''))
  const list = /<key>ProgramArguments<\/key>\s*<array>([\s\S]*?)<\/array>/.exec(text)?.[1]
  if (list !== undefined)
    return pick([...list.matchAll(/<string>([\s\S]*?)<\/string>/g)].map(m => m[1] ?? ''))
  const command = /<Command>([\s\S]*?)<\/Command>/.exec(text)?.[1]
  const args = /<Arguments>([\s\S]*?)<\/Arguments>/.exec(text)?.[1] ?? ''
  if (command === undefined) return [undefined, undefined]
  return pick([command, ...[...args.matchAll(/"([^"]*)"|(\S+)/g)].map(m => m[1] ?? m[2] ?? '')])
}

function pick(words: readonly string[]): [string | undefined, string | undefined] {
  return [words[0], words.find(word => word.endsWith('kim-producer.js'))]
}
