/** The program behind `kim-replay`, for a host that runs it in its own process. */
export { replayProgram } from './cli/program.js'
