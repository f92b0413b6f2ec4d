#!/usr/bin/env node
process.on('SIGUSR1', () => undefined)
await import('../dist/cli/main.js')
