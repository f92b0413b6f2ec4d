import { type Check, fine } from '../check.js'

const LEAST = [20, 19] as const

/** Older lines lack what we use, and say so in odd places. */
export const nodeVersionCheck: Check = {
  id: 'node',
  about: 'Node is new enough',
  look: () => {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
    const isOld = major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1])
    if (!isOld) return fine(`node ${process.versions.node}`)
    return {
      status: 'fail',
      evidence: `node ${process.versions.node}; ${LEAST.join('.')} or newer is needed`,
      remedy: 'install a newer Node, then run kim-producer install-service again with the same flags',
    }
  },
}
