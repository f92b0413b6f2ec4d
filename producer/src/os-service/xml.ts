import { KimError } from '@kim/manifest'

/** Text between tags; what XML 1.0 cannot hold at all is refused, because no escape would bring it back. */
export function xmlText(text: string): string {
  if (!text.isWellFormed() || /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text)) {
    throw new KimError('config_invalid', `${JSON.stringify(text)} holds characters that XML does not allow`)
  }
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#13;')
}
