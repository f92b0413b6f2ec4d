import { homedir } from 'node:os'
import { type Input, type Io, parseInput } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { type Installed, installedServices, servicesOn } from '../../os-service/installed.js'
import type { ServicePlace } from '../../os-service/supervisors.js'
import { runCommands } from '../run/commands.js'
import { runOptions } from '../run/options.js'
import { runWords } from '../service/run-args.js'
import { version } from '../version.js'

/**
 * The flags of `run` to look with: those that were given, else those of the one service that runs on the store. Without
 * them the doctor would ask the default server about the store of another (CL-64).
 */
export function askedFlags(input: Input, io: Io, place: ServicePlace | undefined): Input {
  if (place === undefined || runWords(input).length > 0) return input
  const { storeDir } = runOptions(input, io)
  const [one, ...others] = servicesOn(storeDir, installedServices(place, io.env, homedir()))
  return one === undefined || others.length > 0 ? input : (flagsOf(one, io) ?? input)
}

/** Undefined where the unit was written by hand, or by another release, with what `run` does not take. */
function flagsOf({ command }: Installed, io: Io): Input | undefined {
  const run = runCommands.find(({ name }) => name === 'run')
  if (run === undefined) return undefined
  const program = { name: 'kim-producer', version, about: '', commands: runCommands, exitCodes: [] }
  try {
    const input = parseInput(program, run, command.slice(command.indexOf('run') + 1), io.env)
    runOptions(input, io)
    return input
  } catch (error) {
    if (error instanceof KimError) return undefined
    throw error
  }
}
