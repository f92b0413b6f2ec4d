import { runProcess } from '@kim/cli-kit'
import { program } from './program.js'
import { leaveUnread } from './unread.js'

// A terminal that closes is told to the command of --exec, and to whoever reads an agent's lines, as any other end is.
const ENDED_BY = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const
leaveUnread(ENDED_BY)
await runProcess(program, ENDED_BY)
