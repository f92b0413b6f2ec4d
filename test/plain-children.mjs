// The test runner makes every process that a test starts load its hooks, for a coverage that is off here: they are
// 136 of a command's 220 ms. A command under test starts as its users start it.
globalThis[Symbol.for('process-on-spawn@*:singletonId')]?.listeners.splice(0)
delete process.env.NODE_OPTIONS
