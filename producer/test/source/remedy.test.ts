import { remedyOf, transportFailure } from '@kim/producer/internal'
import t from 'tap'

const HOSTED = { base: 'https://api.kijito.ai', tokenFrom: undefined }

t.test('remedy - KS-17 a way that this machine does not find is no server to start', t => {
  for (const code of ['ENOTFOUND', 'EAI_AGAIN', 'ENODATA', 'ENETUNREACH', 'EHOSTUNREACH']) {
    const remedy = remedyOf(transportFailure({ code }).reason, HOSTED)
    t.equal(
      remedy,
      'this machine finds no way to https://api.kijito.ai: look at its network, or check --url',
      code,
    )
  }
  t.match(remedyOf(transportFailure({ code: 'ECONNREFUSED' }).reason, HOSTED), /^is Kijito running at /)
  t.end()
})
