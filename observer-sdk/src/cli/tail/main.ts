import { runProcess } from '@kim/cli-kit'
import { program } from './program.js'

await runProcess(program)
