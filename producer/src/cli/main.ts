import { runProcess } from '@kim/cli-kit'
import { producerProgram } from './program.js'

await runProcess(producerProgram)
