import t from 'tap'
import { enumerateAll } from './report.js'
import { scenarios } from './scenarios.js'

enumerateAll(
  t,
  scenarios.filter(({ opens }) => opens !== true),
  'JF-61 JF-66 JF-71 JF-82 JF-84 JF-85 JF-86',
)
