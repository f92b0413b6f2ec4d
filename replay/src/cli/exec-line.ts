import { KimError } from '@kim/manifest'
import { runExec } from '@kim/monitor'
import type { DueLine } from '../player.js'

/** Gives one line to a command on its stdin, and waits until it has ended well. What it prints goes to stderr. */
export async function execLine(
  command: string,
  { bytes, seq }: DueLine,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const input = Buffer.concat([bytes, Buffer.from('\n')])
  const outcome = await runExec(command, env, signal, { input, timeoutMs: Number.POSITIVE_INFINITY })
  if (outcome.kind === 'interrupted') throw signal.reason
  if (outcome.kind === 'refused')
    throw new KimError('exec_failed', `seq ${seq}: the command ${outcome.why}`, {
      hint: `correct the command, then continue with --from-seq ${seq}`,
    })
}
