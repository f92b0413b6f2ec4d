import t from 'tap'
import { exposition } from '../../dist/run/metrics.js'

const lines = (...names: string[]): string[] => {
  const samples = names.map(persona => ({ labels: { persona }, value: 1 }))
  return exposition([{ name: 'kim_x', type: 'gauge', help: 'x', samples }])
    .split('\n')
    .slice(2, -1)
}

t.test('exposition - a name cannot move the cursor of who looks at the file (CL-9, CL-53)', async t => {
  const names = ['\u001b[2J', '\\x1b[2J', '\\x5cx1b[2J', '\u202e', '\\u202e', 'a\nb', 'a\\nb', '"', '\\']
  const said = lines(...names)
  t.notMatch(said.join(''), /[\u0000-\u001f\u007f-\u009f\u202e]/)
  t.equal(new Set(said).size, names.length, 'two names are two series')
  t.equal(said[0], 'kim_x{persona="\\\\x1b[2J"} 1')
})
