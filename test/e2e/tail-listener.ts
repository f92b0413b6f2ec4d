// What `tail -F FILE` prints, and when each line came: told as one line of JSON when the input ends.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { type Moment, nowMs } from './latency.js'

const [file = ''] = process.argv.slice(2)
const tail = spawn('tail', ['-n', '+1', '-F', file], { stdio: ['ignore', 'pipe', 'ignore'] })
const arrivals: Moment[] = []
createInterface({ input: tail.stdout }).on('line', line => {
  arrivals.push([Number(/"seq":(\d+)/.exec(line)?.[1]), nowMs()])
})
process.stdin.resume().once('end', () => {
  tail.kill()
  process.stdout.write(`${JSON.stringify(arrivals)}\n`)
})
