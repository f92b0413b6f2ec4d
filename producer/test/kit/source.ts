import { type Answer, openSource, type Source, type SourceOptions } from '@kim/producer/internal'
import type { Test } from 'tap'

/** A signal nobody gives. */
export const quiet: AbortSignal = new AbortController().signal

/** A source on a loopback server; it is closed with the test. */
export async function testSource(
  t: Test,
  url: string,
  options: Partial<SourceOptions> = {},
): Promise<Source> {
  const source = await openSource({
    url,
    dialect: 'local',
    version: '0.0.0-test',
    allowLoopback: true,
    env: {},
    ...options,
  })
  t.teardown(() => source.close())
  return source
}

/** Why an answer brought nothing; the empty text if it did. */
export function reasonOf(answer: Answer<unknown>): string {
  return answer.ok ? '' : answer.failure.reason
}

/** The token of it. */
export function tokenOf(answer: Answer<unknown>): string {
  return answer.ok ? 'ok' : answer.failure.token
}
