import { safeJson } from '@kim/cli-kit'
import type { Renderer } from './renderer.js'

/** The stored line, byte for byte, so that a hash of it still verifies. The one mode that escapes nothing. */
export const renderJson: Renderer = entry => entry.line

/** The record over several lines, unsafe characters as escapes. */
export const renderJsonPretty: Renderer = entry => safeJson(JSON.stringify(entry.record.raw, null, 2))
