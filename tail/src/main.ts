import { runProcess } from '@kim/cli-kit'
import { exitWhenStdoutStalls } from './exit-when-stdout-stalls.js'
import { tailProgram } from './program.js'

// A terminal that closes is told to the command of --exec, and to whoever reads an agent's lines, as any other end is.
const ENDED_BY = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const
exitWhenStdoutStalls(ENDED_BY)
await runProcess(tailProgram, ENDED_BY)
