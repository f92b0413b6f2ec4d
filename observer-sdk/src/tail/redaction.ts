import type { ReadRecord } from '@kim/manifest'

/** Whether a record notes a redaction, which rewrites old lines until the checkpoint that ends it (JF-76). */
export function isRedaction({ action, payload }: ReadRecord): boolean {
  return action === 'journal_note' && payload?.['kind'] === 'redaction'
}
