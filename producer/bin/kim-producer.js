#!/usr/bin/env node
process.on('SIGUSR1', () => undefined)
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.on(signal, () => {
    // The program has its own once it is loaded; until then nothing was begun that would have to be ended.
    if (process.listenerCount(signal) > 1) return
    process.exit(process.argv[2] === 'run' ? 0 : signal === 'SIGTERM' ? 143 : 130)
  })
}
await import('../dist/cli/main.js')
