import { verifyJournal } from '@kim/observer-sdk/verify'

/** What `verify` has against a journal directory, in words; nothing if it exits 0 and finds the digest expected. */
export async function objections(eventsDir: string, expectedDigest?: string): Promise<string[]> {
  const { exit, findings, digest } = await verifyJournal({ eventsDir })
  if (exit === 0) {
    const same = expectedDigest === undefined || digest === expectedDigest
    return same ? [] : [`verify finds the digest ${digest}, not ${expectedDigest}`]
  }
  const said = Object.entries(findings)
    .filter(([, finding]) => finding.weight > 0)
    .map(([kind, { count, examples }]) => {
      const [first] = examples
      return `${count} ${kind} (${first?.segment ?? ''} ${first?.offset ?? ''} ${first?.seq ?? ''}: ${first?.detail ?? ''})`
    })
  return [`verify exits ${exit}: ${said.join('; ')}`]
}
