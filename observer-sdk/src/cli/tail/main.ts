import { runProcess } from '@kim/cli-kit'
import { program } from './program.js'

// A terminal that closes is told to the command of --exec, and to whoever reads an agent's lines, as any other end is.
await runProcess(program, ['SIGHUP', 'SIGINT', 'SIGTERM'])
