/** The program behind `kim-tail`, for a host that runs it in its own process. */
export { tailProgram } from './program.js'
