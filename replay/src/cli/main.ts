import { runProcess } from '@kim/cli-kit'
import { replayProgram } from './program.js'

// A terminal that closes leaves no half file either.
await runProcess(replayProgram, ['SIGHUP', 'SIGINT', 'SIGTERM'])
