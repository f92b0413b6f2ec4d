import { runProcess } from '@kim/cli-kit'
import { program } from './program.js'

// A terminal that closes leaves no half file either.
await runProcess(program, ['SIGHUP', 'SIGINT', 'SIGTERM'])
