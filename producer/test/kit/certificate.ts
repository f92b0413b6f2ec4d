import { generateKeyPairSync, sign } from 'node:crypto'

/** A key and the certificate that it signed for itself. */
export interface SelfSigned {
  readonly key: string
  readonly cert: string
}

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  const length = body.length
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), body])
}

const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts)
const hex = (text: string): Buffer => Buffer.from(text, 'hex')

const ECDSA_WITH_SHA256 = sequence(der(0x06, hex('2a8648ce3d040302')))
const COMMON_NAME = hex('550403')
const ALTERNATIVE_NAME = hex('551d11')
const BASIC_CONSTRAINTS = hex('551d13')

/** Makes a certificate for a host, made anew each time so that no key stands in the tree. */
export function selfSigned(host: string): SelfSigned {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const name = sequence(der(0x31, sequence(der(0x06, COMMON_NAME), der(0x0c, Buffer.from(host)))))
  const extension = (id: Buffer, value: Buffer): Buffer => sequence(der(0x06, id), der(0x04, value))
  const signed = sequence(
    der(0xa0, der(0x02, hex('02'))),
    der(0x02, hex('01')),
    ECDSA_WITH_SHA256,
    name,
    sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z'))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      sequence(
        extension(BASIC_CONSTRAINTS, sequence(der(0x01, hex('ff')))),
        extension(ALTERNATIVE_NAME, sequence(der(0x82, Buffer.from(host)))),
      ),
    ),
  )
  const signature = sign('sha256', signed, privateKey)
  const whole = sequence(signed, ECDSA_WITH_SHA256, der(0x03, hex('00'), signature))
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
  }
}
