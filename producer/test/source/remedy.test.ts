import { remedyOf, transportFailure } from '@kim/producer/internal'
import t from 'tap'

const HOSTED = { base: 'https://api.kijito.ai', tokenFrom: undefined }
const LOCAL = { base: 'http://localhost:7474', tokenFrom: undefined }

t.test('remedy - KS-17 a way that this machine does not find is no server to start', async t => {
  for (const code of ['ENOTFOUND', 'EAI_AGAIN', 'ENODATA', 'ENETUNREACH', 'EHOSTUNREACH']) {
    const remedy = remedyOf(transportFailure({ code }).reason, HOSTED)
    t.equal(remedy, 'this machine cannot reach https://api.kijito.ai: check its network, or --url', code)
  }
  const refused = transportFailure({ code: 'ECONNREFUSED' }).reason
  t.equal(remedyOf(refused, HOSTED), 'check the network of this machine, and --url')
  t.match(remedyOf(refused, LOCAL), /^start Kijito at http:/)
})

t.test('remedy - KS-17 the log of the hosted server is not ours to read', async t => {
  const own = 'the hosted Kijito has a problem; a running producer retries by itself, and no mail is lost'
  t.match(remedyOf('parse-fail: not JSON', HOSTED), own)
  t.match(
    remedyOf('unreachable: no complete answer within 30 s', HOSTED),
    `check --url; if it is right, ${own}`,
  )
  t.match(remedyOf('unreachable: no complete answer within 30 s', LOCAL), /read the log of the server$/)
})

t.test('remedy - KS-17 a service gets its token from a file', async t => {
  const remedy = remedyOf('http 401: unauthorized', LOCAL)
  t.match(
    remedy,
    /add --token-file F \(a service needs the file\); without a service, you can set KIM_TOKEN$/,
  )
})

t.test('remedy - KS-17 a certificate, a refused address and another program are named', async t => {
  for (const code of ['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID']) {
    t.match(
      remedyOf(transportFailure({ code }).reason, HOSTED),
      /^the certificate of https:.* the clock/,
      code,
    )
  }
  t.match(remedyOf(transportFailure({ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }).reason, HOSTED), /does not use/)
  const leads = (what: string): string => `unreachable: https://x leads to 10.1.2.3, ${what}`
  t.match(remedyOf(leads('a private address'), HOSTED), /add --allow-private$/)
  t.match(remedyOf(leads('a loopback address'), HOSTED), /add --allow-loopback$/)
  t.match(remedyOf(leads('an address no server can have'), HOSTED), /^use another URL/)
  t.match(remedyOf('parse-fail: not JSON', LOCAL), /answers, but not like Kijito: check --url and --dialect/)
  t.match(remedyOf('shape-invalid: result is not an array after 2', LOCAL), /not like Kijito/)
  t.equal(remedyOf('parse-fail: more than 33554432 bytes', LOCAL), undefined)
})
