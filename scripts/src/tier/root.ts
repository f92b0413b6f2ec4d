import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository's root, wherever it was cloned. */
export const root: string = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))
