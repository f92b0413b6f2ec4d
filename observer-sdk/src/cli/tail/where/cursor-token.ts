/** A place in one journal: after the record with this seq by this writer. */
export interface Place {
  readonly projectId: string
  readonly seq: number
  readonly writer: string | null
}

/** The text of `--show-cursor`. Private: only `--cursor` and `--after-cursor` are meant to read it. */
export function formatToken(place: Place): string {
  return `k1.${Buffer.from(JSON.stringify([place.projectId, place.seq, place.writer])).toString('base64url')}`
}

/** The place a token names, or undefined for anything that is no token of ours. */
export function parseToken(text: string): Place | undefined {
  if (!text.startsWith('k1.')) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(text.slice(3), 'base64url').toString('utf8'))
    if (!Array.isArray(value) || value.length !== 3) return undefined
    const [projectId, seq, writer] = value as unknown[]
    if (typeof projectId !== 'string' || projectId === '') return undefined
    if (typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < 0) return undefined
    if (writer !== null && typeof writer !== 'string') return undefined
    return { projectId, seq, writer }
  } catch {
    return undefined
  }
}
