/** Prints the files that take part in the life of a message: `npm run life`. */
import { traceLife } from './trace-life.js'

const { producer, tail } = await traceLife()
for (const file of producer) console.log(`producer  ${file}`)
for (const file of tail) console.log(`tail      ${file}`)
console.log(`${new Set([...producer, ...tail]).size} files`)
