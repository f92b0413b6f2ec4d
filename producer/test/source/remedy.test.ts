import { remedyOf, transportFailure } from '@kim/producer/internal'
import t from 'tap'

const HOSTED = { base: 'https://api.kijito.ai', tokenFrom: undefined }

t.test('remedy - KS-17 a way that this machine does not find is no server to start', t => {
  for (const code of ['ENOTFOUND', 'EAI_AGAIN', 'ENODATA', 'ENETUNREACH', 'EHOSTUNREACH']) {
    const remedy = remedyOf(transportFailure({ code }).reason, HOSTED)
    t.equal(remedy, 'this machine cannot reach https://api.kijito.ai: check its network, or --url', code)
  }
  t.match(remedyOf(transportFailure({ code: 'ECONNREFUSED' }).reason, HOSTED), /^start Kijito at /)
  t.end()
})
