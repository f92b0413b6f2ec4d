import { randomBytes } from 'node:crypto'

/** Where unguessable names come from. */
export interface Random {
  /** `bytes` random bytes as lower-case hex. */
  hex(bytes: number): string
}

/** The system's random source. */
export const systemRandom: Random = { hex: bytes => randomBytes(bytes).toString('hex') }
